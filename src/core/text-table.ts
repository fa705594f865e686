/** A table of aligned columns in plain text. Cells must be free of control characters already. */

export type Align = "left" | "right";

/**
 * Lines of the table; columns two spaces apart, no trailing spaces. By default the first column (names) and the last (a remark)
 * stand left, the numbers between them right.
 */
export function alignColumns(
  rows: readonly (readonly string[])[],
  align: readonly Align[] = sidesOf(rows[0]?.length ?? 0),
): string[] {
  const widths = align.map((_, column) => Math.max(0, ...rows.map((row) => width(row[column] ?? ""))));
  return rows.map((row) =>
    align
      .map((side, column) => {
        const cell = row[column] ?? "";
        const space = " ".repeat((widths[column] as number) - width(cell));
        return side === "left" ? cell + space : space + cell;
      })
      .join("  ")
      .trimEnd(),
  );
}

function sidesOf(columns: number): Align[] {
  return Array.from({ length: columns }, (_, at) => (at === 0 || at === columns - 1 ? "left" : "right"));
}

/** Columns that a text takes on a terminal: colour codes and combining marks none, wide characters two. */
export function width(text: string): number {
  let columns = 0;
  // eslint-disable-next-line no-control-regex
  for (const char of text.replace(/\u001b\[\d*m/g, "")) {
    if (/\p{M}/u.test(char)) continue;
    columns += WIDE.test(char) ? 2 : 1;
  }
  return columns;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Colours, or none. */
export type Paint = Readonly<Record<"bold" | "dim" | "good" | "warn" | "bad", (text: string) => string>>;

/** `colour` is the caller's decision (a terminal, and no NO_COLOR). */
export function createPaint(colour: boolean): Paint {
  const wrap = (code: number) => (text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { bold: wrap(1), dim: wrap(2), good: wrap(32), warn: wrap(33), bad: wrap(31) };
}
