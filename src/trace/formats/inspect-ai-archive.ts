/**
 * Samples of Inspect's `.eval` archive: one entry a sample, or (chunked) a folder of entries with its sequences cut in pieces that are
 * named by the index of their first item.
 */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { UserError } from "../../core/failure.ts";
import type { ZipArchive, ZipEntry } from "../../core/zip.ts";
import { parsePythonJson } from "../lossless-json.ts";
import { isObject } from "../openai-messages.ts";
import { BadRow, notJson, type RowAccount } from "../row-account.ts";
import { kindOf } from "../row-reader.ts";
import type { SampleReader } from "./inspect-ai-sample.ts";

/** A sample's id may hold a slash. */
const WHOLE = /^samples\/.+_epoch_\d+\.json$/;
const CHUNKED = /^(samples\/.+_epoch_\d+)\/sample\.json$/;

/** Hands every sample to `reader`; false where the archive has no final header (the evaluation was still running). */
export async function readArchivedSamples(
  archive: ZipArchive,
  account: RowAccount,
  reader: SampleReader,
): Promise<boolean> {
  for (const [name, entry] of archive.entries) {
    const folder = CHUNKED.exec(name)?.[1];
    if (folder === undefined && !WHOLE.test(name)) continue;
    try {
      const sample = await readJson(archive, entry);
      reader.sample(
        folder !== undefined && isObject(sample) ? await joinChunks(archive, sample, folder) : sample,
        name,
      );
    } catch (error) {
      // A damaged entry is a bad row: the others can still be read.
      if (error instanceof BadRow) account.refuse(null, `${name}: ${error.message}`);
      else if (error instanceof SyntaxError) account.refuse(null, `${name}: ${notJson(error)}`);
      else if (error instanceof UserError && error.message.includes(name))
        account.refuse(null, error.message.slice(account.file.length + 2));
      else throw error;
    }
  }
  return archive.entries.has("header.json");
}

async function readJson(archive: ZipArchive, entry: ZipEntry): Promise<unknown> {
  return parsePythonJson((await archive.read(entry)).toString("utf8"));
}

/** A chunked sample in the shape of a whole one. */
async function joinChunks(archive: ZipArchive, shell: JsonObject, folder: string): Promise<JsonObject> {
  const [messages, events, attachments] = [
    await sequence(archive, `${folder}/messages`),
    await sequence(archive, `${folder}/events`),
    await sequence(archive, `${folder}/attachments`),
  ];
  return {
    ...shell,
    events,
    message_pool: messages,
    attachments: Object.fromEntries(attachments.map((text, at) => [String(at), text])),
  };
}

async function sequence(archive: ZipArchive, folder: string): Promise<JsonValue[]> {
  const pieces: { readonly start: number; readonly entry: ZipEntry }[] = [];
  for (const [name, entry] of archive.entries) {
    const start = name.startsWith(`${folder}/`)
      ? /^(\d+)\.json$/.exec(name.slice(folder.length + 1))?.[1]
      : undefined;
    if (start !== undefined) pieces.push({ start: Number(start), entry });
  }
  pieces.sort((a, b) => a.start - b.start);
  const items: JsonValue[] = [];
  for (const { start, entry } of pieces) {
    const piece = await readJson(archive, entry);
    if (!Array.isArray(piece)) throw new BadRow(`${entry.name} is no array but ${kindOf(piece)}`);
    if (start !== items.length) throw new BadRow(`${folder} lacks items ${items.length} to ${start - 1}`);
    for (const item of piece as JsonValue[]) items.push(item);
  }
  return items;
}
