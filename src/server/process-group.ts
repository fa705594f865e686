/**
 * Who belongs to a server: the processes of its group, and those that left the group but carry its mark in their
 * environment (a daemon that called setsid). Linux tells from /proc; elsewhere only the group itself is asked for.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Environment variable that every process of one server inherits. */
export const MARK = "REPRISE_SERVER_MARK";

const HAS_PROC = existsSync("/proc/self/stat");

/** Living processes (no zombies) of the group or with the mark. */
export function serverProcesses(group: number, mark: string): number[] {
  if (!HAS_PROC) return groupAnswers(group) ? [group] : [];
  const found: number[] = [];
  for (const pid of allProcesses()) {
    const stat = readStat(pid);
    if (stat === null || stat.state === "Z" || stat.state === "X") continue;
    if (stat.group === group || environmentHas(pid, mark)) found.push(pid);
  }
  return found;
}

/** Sends a signal to the group and to strays that carry the mark. Gone processes are no error. */
export function signalServer(group: number, mark: string, signal: NodeJS.Signals): void {
  quietKill(-group, signal);
  if (!HAS_PROC) return;
  for (const pid of serverProcesses(group, mark)) {
    if (readStat(pid)?.group !== group) quietKill(pid, signal);
  }
}

/** Processes that listen on a TCP port of this machine; empty if none, `null` where that cannot be told. */
export function portListeners(port: number): { pid: number; name: string }[] | null {
  if (!existsSync("/proc/net/tcp")) return null;
  const inodes = new Set([...listenInodes("/proc/net/tcp", port), ...listenInodes("/proc/net/tcp6", port)]);
  if (inodes.size === 0) return [];
  const owners: { pid: number; name: string }[] = [];
  let unreadable = false;
  for (const pid of allProcesses()) {
    let handles: string[];
    try {
      handles = readdirSync(`/proc/${pid}/fd`);
    } catch {
      unreadable = true;
      continue;
    }
    const listens = handles.some((handle) => {
      try {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${handle}`))?.[1];
        return inode !== undefined && inodes.has(inode);
      } catch {
        return false;
      }
    });
    if (listens) owners.push({ pid, name: processName(pid) });
  }
  // Someone listens, but in a process we may not look into (another user's).
  return owners.length === 0 && unreadable ? null : owners;
}

function processName(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 80);
  } catch {
    return "";
  }
}

function allProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readStat(pid: number): { state: string; group: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold anything, parentheses too: fields count from the last one.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] as string, group: Number(fields[2]) };
  } catch {
    return null;
  }
}

function environmentHas(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`${MARK}=${mark}`);
  } catch {
    return false;
  }
}

function listenInodes(file: string, port: number): string[] {
  let lines: string[];
  try {
    lines = readFileSync(file, "latin1").split("\n").slice(1);
  } catch {
    return [];
  }
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const LISTEN = "0A";
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(wanted) === true && fields[3] === LISTEN)
    .map((fields) => fields[9] as string);
}

function groupAnswers(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function quietKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
