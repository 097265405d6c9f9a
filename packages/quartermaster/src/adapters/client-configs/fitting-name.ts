const LONGEST = 32

/** What a configuration cannot hold under its own name. */
const NO_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** A name that an upstream may have, as near to the written one as can be, and free. */
export function fittingName(written: string, isFree: (name: string) => boolean): string {
  const plain = written
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    // `ü` is a `u` and a mark by now, and would be cut in two.
    .replace(/\p{M}+/gu, '')
    .replace(/[^\w-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const usual = NO_NAMES.has(plain) ? plain.replaceAll('_', '') : plain
  const name = (usual || 'server').slice(0, LONGEST).replace(/-+$/, '')
  if (isFree(name) && !NO_NAMES.has(name)) return name
  for (let number = 2; ; number++) {
    const ending = `-${number}`
    const numbered = `${name.slice(0, LONGEST - ending.length)}${ending}`
    if (isFree(numbered)) return numbered
  }
}
