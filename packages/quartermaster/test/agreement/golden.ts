import { readFileSync, writeFileSync } from 'node:fs'

/** What the file says that this text is held against. `UPDATE_GOLDEN=1` writes the text into it first. */
export function golden(name: string, text: string): string {
  const file = new URL(`goldens/${name}`, import.meta.url)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, text)
  return readFileSync(file, 'utf8')
}
