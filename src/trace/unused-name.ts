/** `wanted`, or, where it is known, `wanted#2`, `wanted#3`, ... (the mark is `#` by default); it is known from then on. */
export function unusedName(wanted: string, known: Set<string>, mark = "#"): string {
  let name = wanted;
  for (let copy = 2; known.has(name); copy++) name = `${wanted}${mark}${copy}`;
  known.add(name);
  return name;
}
