const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

/** A size for people and programs: `1.4 MiB (1468006 bytes)`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  const power = Math.min(UNITS.length, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${UNITS[power - 1]} (${bytes} bytes)`
}
