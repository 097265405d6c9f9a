import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** What a file says that this text is held against. `npm run golden` writes the text into it first. */
export function golden(file: URL, text: string): string {
  if (isWriting()) writeFileSync(file, text)
  return readFileSync(file, 'utf8')
}

/** The same of a whole folder, by the names of its files. */
export function goldenFolder(folder: URL, texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (isWriting()) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of texts) writeFileSync(new URL(name, folder), text)
  }
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  return new Map(names.map(name => [name, readFileSync(new URL(name, folder), 'utf8')]))
}

function isWriting(): boolean {
  return process.env.UPDATE_GOLDEN === '1'
}
