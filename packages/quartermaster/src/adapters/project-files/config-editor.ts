import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type AddedUpstream, AppError, type Problem } from '../../contracts/index.ts'
import { canonicalJson, didYouMean } from '../../core/kernel/index.ts'
import { problemsError, toProblem } from './fault.ts'
import { CONFIG_FILE } from './find-project.ts'
import { changesBetween } from './json-changes.ts'
import { FORBIDDEN_KEYS, type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange } from './json-edit.ts'
import { printLines } from './json-print.ts'
import { createQueue } from './queue.ts'
import { secretNamesIn } from './references.ts'
import { secretUses } from './secret-uses.ts'
import { type AddedSecrets, addSecrets, removeSecrets } from './secrets-editor.ts'
import { editText } from './text-edit.ts'
import { entryFaults, SERVERS } from './upstream-entries.ts'

type Entry = Readonly<Record<string, unknown>>
type Outcome = AddedUpstream['outcome']

/** Changes the configuration and the secrets beside it, and leaves everything else in them as it was written. */
export interface ConfigEditor {
  /**
   * Writes one entry of `mcpServers`, its references as they are. Throws `NAME_TAKEN` when another one has the name, unless
   * it is to be replaced, and `CONFIG_INVALID` when the entry would not be right.
   */
  setUpstream(name: string, entry: Entry, options: { replace: boolean }): Promise<{ file: string; outcome: Outcome }>
  /** Takes one entry out, and answers the secrets it referred to. Throws `NAME_UNKNOWN`. */
  removeUpstream(name: string): Promise<{ file: string; secrets: readonly string[] }>
  /** Adds secrets. A name that has another text already is left alone, and the new one gets the next free name. */
  addSecrets(secrets: Readonly<Record<string, string>>): Promise<AddedSecrets>
  /** Takes secrets out, and answers which of them were there. */
  removeSecrets(names: readonly string[]): Promise<string[]>
  /** Where each of these secrets is named now. */
  secretUses(names: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
}

export interface ConfigEditorOptions {
  readonly projectDir: string
  readonly dataDir: string
  /** Where the configuration is; under its usual name in the project folder when there is none yet. */
  configFile(): string | undefined
}

export function createConfigEditor({ projectDir, dataDir, configFile }: ConfigEditorOptions): ConfigEditor {
  const edits = createQueue()
  const edit = async (change: (servers: Entry) => Entry, check: (document: JsonDocument, file: string) => void) => {
    const path = configFile() ?? join(projectDir, CONFIG_FILE)
    const file = basename(path)
    await editText({ path, file, code: 'CONFIG_INVALID' }, current => {
      const text = current === undefined ? freshText(change) : changedText(current, file, change)
      check(parseDocument(text), file)
      return { text }
    })
    return { file: path }
  }
  const secretsFile = join(dataDir, 'secrets.json')
  return {
    setUpstream: (name, entry, { replace }) =>
      edits(async () => {
        refuseName(name)
        let outcome: Outcome = 'added'
        const put = (servers: Entry) => {
          if (Object.hasOwn(servers, name)) outcome = isSame(servers[name], entry) ? 'unchanged' : 'replaced'
          if (outcome === 'replaced' && !replace) throw taken(name)
          return { ...servers, [name]: entry }
        }
        const { file } = await edit(put, (document, where) => refuseFaults(name, document, where))
        return { file, outcome }
      }),
    removeUpstream: name =>
      edits(async () => {
        let secrets: readonly string[] = []
        const take = (servers: Entry) => {
          if (!Object.hasOwn(servers, name)) throw unknown(name, Object.keys(servers))
          const { [name]: gone, ...rest } = servers
          secrets = secretNamesIn(gone)
          return rest
        }
        const { file } = await edit(take, () => {})
        return { file, secrets }
      }),
    addSecrets: secrets => edits(() => addSecrets(secretsFile, secrets)),
    removeSecrets: names => edits(() => removeSecrets(secretsFile, names)),
    secretUses: names => secretUses(names, { projectDir, configFile: configFile() }),
  }
}

/** Names that the configuration cannot hold are told as such: written down, they would be gone when it is read back. */
function refuseName(name: string): void {
  if (!FORBIDDEN_KEYS.has(name)) return
  throw new AppError('CONFIG_INVALID', `An upstream cannot be named "${name}". Choose another name.`)
}

/** The place in a text that is not written yet would tell nobody anything, so only the field is told. */
function refuseFaults(name: string, document: JsonDocument, where: string): void {
  const problems = entryFaults(name, document).map(({ path, message, mend }): Problem => {
    const field = path.join('.')
    return { severity: 'error', code: 'CONFIG_INVALID', where, ...(field !== '' && { field }), message, mend }
  })
  if (problems.length > 0) throw problemsError('CONFIG_INVALID', `The upstream "${name}" would not be right:`, problems)
}

function serversOf({ value }: JsonDocument): Entry {
  const servers = (value as Entry)[SERVERS] ?? {}
  if (typeof servers === 'object' && !Array.isArray(servers)) return servers as Entry
  throw new AppError('CONFIG_INVALID', `"${SERVERS}" must be an object of names and servers. Correct it first.`)
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

function taken(name: string): AppError {
  return new AppError(
    'NAME_TAKEN',
    `There is another upstream "${name}". Choose another name, or replace it: --replace`,
  )
}

function unknown(name: string, known: readonly string[]): AppError {
  const hint = didYouMean(name, known) || ` There are: ${known.join(', ') || 'none'}.`
  return new AppError('NAME_UNKNOWN', `The configuration names no upstream "${name}".${hint}`)
}

function changedText(current: string, file: string, change: (servers: Entry) => Entry): string {
  const { mark, text } = splitByteOrderMark(current)
  const document = readable(text, file)
  const before = document.value as Entry
  const after = plain({ ...before, [SERVERS]: change(serversOf(document)) })
  const changed = changesBetween({ written: before, before, after }).reduce(applyChange, text)
  return mark + verified(changed, after)
}

function freshText(change: (servers: Entry) => Entry): string {
  const after = plain({ [SERVERS]: change({}) })
  return verified(`${printLines(after, { unit: '  ', eol: '\n' })}\n`, after)
}

/** What JSON cannot say, `undefined` above all, is not to be written. */
function plain(value: Entry): Entry {
  return JSON.parse(JSON.stringify(value)) as Entry
}

function readable(text: string, file: string): JsonDocument {
  const document = parseDocument(text)
  const { value, faults } = document
  if (faults.length === 0 && typeof value === 'object' && value !== null && !Array.isArray(value)) return document
  const problems = faults.map(fault => toProblem(fault, { file, text, code: 'CONFIG_INVALID' }))
  throw problemsError('CONFIG_INVALID', `${file} cannot be edited until it is one JSON object again:`, problems)
}

/** Nothing is written before the new text was read back and says what was asked for. */
function verified(text: string, wanted: Entry): string {
  if (isDeepStrictEqual(parseDocument(text).value, wanted)) return text
  throw new AppError(
    'INTERNAL',
    'The configuration is written in a way that this change cannot be put into. Edit it by hand; nothing was written.',
  )
}
