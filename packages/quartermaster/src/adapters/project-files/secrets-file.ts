import type { Stats } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../../contracts/index.ts'
import type { Secrets } from '../../core/catalogue/index.ts'
import { type Fault, toProblem } from './faults.ts'
import { type JsonDocument, offsetOf, parseDocument } from './json-document.ts'
import { readText } from './text-file.ts'

/** The secrets of a file, or `undefined` for them when the file is not fit to be read. */
interface SecretsRead {
  readonly secrets: Secrets | undefined
  readonly problems: readonly Problem[]
}

/** The present problems of the secrets file, for code that read it earlier. */
export async function secretsProblems(dataDir: string): Promise<readonly Problem[]> {
  const { problems } = await readSecrets(secretsFileIn(dataDir))
  return problems
}

/** Inside the data folder, because an agent that may read the project could read a file beside it. */
export function secretsFileIn(dataDir: string): string {
  return join(dataDir, 'secrets.json')
}

/** Reads a JSON file of names and texts that only its owner may read. An absent one holds no secrets. */
export async function readSecrets(file: string): Promise<SecretsRead> {
  const read = await readText(file, stats => refuseOpenFile(stats, file))
  if (read.kind === 'absent') return { secrets: toSecrets({}), problems: [] }
  if (read.kind === 'fault')
    return refused([{ severity: 'error', code: 'CONFIG_INVALID', where: file, message: read.message, fix: read.fix }])
  const document = parseDocument(read.text)
  const faults = [...document.faults, ...wrongValues(document)]
  if (faults.length > 0)
    return refused(faults.map(fault => toProblem(fault, { file, text: document.text, code: 'CONFIG_INVALID' })))
  const texts = document.value as Record<string, string>
  return { secrets: toSecrets(texts), problems: emptyOnes(texts, file) }
}

function refuseOpenFile(stats: Stats, file: string): { message: string; fix: string } | undefined {
  // Windows keeps no such bits: Node makes them up from the read-only flag.
  if (process.platform === 'win32' || (stats.mode & 0o077) === 0) return undefined
  const mode = (stats.mode & 0o777).toString(8)
  return { message: `Others than its owner have rights to it (mode ${mode}).`, fix: `Run: chmod 600 ${file}` }
}

function refused(problems: Problem[]): SecretsRead {
  return { secrets: undefined, problems }
}

/** Checked by hand, because the words for other files tell what was found. */
function wrongValues(document: JsonDocument): Fault[] {
  const { value } = document
  if (value === undefined) return []
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [
      { offset: 0, path: [], message: 'Expected an object of names and texts.', fix: 'Write { "NAME": "text" }.' },
    ]
  }
  const names = Object.keys(value).filter(name => typeof (value as Record<string, unknown>)[name] !== 'string')
  return names.map(name => {
    const message = `The secret "${name}" is not a text.`
    return { offset: offsetOf(document, [name]), path: [name], message, fix: 'Write it in double quotes.' }
  })
}

/** In a closure rather than in fields, so that no log or dump of the object shows them. */
function toSecrets(texts: Readonly<Record<string, string>>): Secrets {
  const byName = new Map(Object.entries(texts))
  return { get: name => byName.get(name) }
}

function emptyOnes(texts: Readonly<Record<string, string>>, file: string): Problem[] {
  const names = Object.keys(texts).filter(name => texts[name] === '')
  return names.map(name => ({
    severity: 'warning',
    code: 'CONFIG_INVALID',
    where: file,
    field: name,
    message: `The secret "${name}" is empty.`,
    fix: 'Write its text, or remove it.',
  }))
}
