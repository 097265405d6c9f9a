const LONGEST = 32

/** A name that an upstream may have, as near to the written one as can be, and free. */
export function fittingName(written: string, isFree: (name: string) => boolean): string {
  const plain = written
    .normalize('NFKD')
    .replace(/[^\w-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const name = (plain || 'server').slice(0, LONGEST).replace(/-+$/, '')
  if (isFree(name)) return name
  for (let number = 2; ; number++) {
    const ending = `-${number}`
    const numbered = `${name.slice(0, LONGEST - ending.length)}${ending}`
    if (isFree(numbered)) return numbered
  }
}
