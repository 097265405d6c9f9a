import { basename, join } from 'node:path'
import {
  type AddedUpstream,
  AppError,
  isAppError,
  type Problem,
  type UpstreamConfig,
  type UpstreamConsent,
} from '../../contracts/index.ts'
import { consentPrefix, suggestOrList, upstreamUnit } from '../../core/kernel/index.ts'
import { type Edit, type EditedFile, editText, previewEdits } from './agent-entry.ts'
import {
  configText,
  type EntryParts,
  type Fields,
  isSameServer,
  partsOf,
  type Succession,
  settingsIn,
  withKept,
  withPresentVersions,
} from './config-text.ts'
import { problemsError } from './faults.ts'
import { FORBIDDEN_KEYS, type JsonDocument, parseDocument } from './json-document.ts'
import { type Environment, secretNamesIn } from './references.ts'
import { type ReleasedSecrets, releasable, type SparedSecrets, secretUses, unnumbered } from './secret-names.ts'
import { readSecrets, secretsFileIn } from './secrets-file.ts'
import { CONFIG_FILE, readText } from './text-file.ts'
import { entryFaults, readUpstreams, SERVERS, tooMuchLike } from './upstream-entries.ts'
import { type NamedEntry, nameSecrets, removeSecrets, secretsThere, type WrittenSecrets } from './upstream-secrets.ts'

/** An upstream that was written down. */
export interface SetUpstream extends Pick<AddedUpstream, 'file' | 'outcome' | 'consent'>, Succession {
  /** The names under which its secrets are kept. */
  readonly secrets: readonly string[]
  /** The name that each secret without a value has now, by the name that was asked for. */
  readonly missing: Readonly<Record<string, string>>
  /** The secrets of the entry that was there before, as far as the new one does not refer to them and they are not spared. */
  readonly unneeded: readonly string[]
  /** Secrets that removed settings of the owner referred to, with the names of these settings. */
  readonly spared: SparedSecrets
}

export type SetUpstreamOptions = Partial<WrittenSecrets> & {
  readonly replace: boolean
  /** Written into an entry that is not there yet and says nothing of it. */
  readonly consent?: UpstreamConsent | undefined
}

interface PreviewOptions extends SetUpstreamOptions {
  readonly env: Environment
  /** Others that would be there by then, in this order. */
  readonly beside: readonly BesideUpstream[]
}

/** Another upstream that would be added first. */
interface BesideUpstream {
  readonly name: string
  readonly entry: Fields
  readonly secrets?: WrittenSecrets['secrets'] | undefined
  readonly missing?: WrittenSecrets['missing'] | undefined
}

/** An upstream as it would be written down. */
interface PreviewedUpstream extends Omit<SetUpstream, 'unneeded' | 'spared'> {
  /** With references in place of its secrets. */
  readonly entry: Fields
  /** References replaced; absent where it could not be used yet. */
  readonly config: UpstreamConfig | undefined
  /** Every text of the configuration that must not be shown. */
  readonly masks: readonly string[]
  /** Why it could not be used. */
  readonly problems: readonly Problem[]
  /** The outcome for secrets that only the replaced entry needs; absent if there are none. */
  readonly released: ReleasedSecrets | undefined
}

/** Changes the configuration and the secrets beside it, one step at a time, and leaves everything else in them as it was written. */
export interface ConfigEditor {
  /**
   * Writes one entry of `mcpServers` and its secrets. Of another one that it replaces, what it does not speak of stays, unless
   * that is about how the server is reached. A secret takes no name that anything else refers to; the references of the entry
   * follow. Throws `NAME_TAKEN` when another one has the name, unless it is to be replaced, or one too much like
   * it, and `INPUT_INVALID` when the entry would not be right; then no secret is left behind either.
   */
  setUpstream(name: string, entry: Fields, options: SetUpstreamOptions): Promise<SetUpstream>
  /** Answers what `setUpstream` would do, and throws as it would. Nothing is written. */
  previewUpstream(name: string, entry: Fields, options: PreviewOptions): Promise<PreviewedUpstream>
  /** Says in these entries which of their tools ask a person first. Throws `NAME_UNKNOWN`. */
  setConsent(names: readonly string[], consent: UpstreamConsent): Promise<void>
  /** Throws as `removeUpstream` would. Nothing is written. */
  requireUpstream(name: string): Promise<void>
  /** Takes one entry out, and answers the secrets it referred to. Throws `NAME_UNKNOWN`. */
  removeUpstream(name: string): Promise<{ file: string; secrets: readonly string[] }>
  /** Takes those of these secrets out that nothing names now, or none of them. What is spared stays, and is told of as well. */
  releaseSecrets(names: readonly string[], options: { keep: boolean; spared?: SparedSecrets }): Promise<ReleasedSecrets>
}

interface ConfigEditorOptions {
  readonly projectDir: string
  readonly dataDir: string
  /** Where the configuration is; under its usual name in the project folder when there is none yet. */
  configFile(): string | undefined
}

export function createConfigEditor({ projectDir, dataDir, configFile }: ConfigEditorOptions): ConfigEditor {
  const edits = createQueue()
  const secretsFile = secretsFileIn(dataDir)
  const config = (): EditedFile => {
    const path = configFile() ?? join(projectDir, CONFIG_FILE)
    return { path, file: basename(path), code: 'CONFIG_INVALID' }
  }
  return {
    setUpstream: (name, entry, options) =>
      edits(() => setUpstream({ name, entry, ...options }, { config: config(), secretsFile, projectDir })),
    previewUpstream: (name, entry, options) =>
      edits(() => previewUpstream({ name, entry, ...options }, { config: config(), secretsFile, projectDir })),
    setConsent: (names, consent) => edits(() => setConsent(names, consent, config())),
    requireUpstream: name => edits(async () => void (await removeUpstream(name, config(), previewEdits()))),
    removeUpstream: name => edits(() => removeUpstream(name, config(), editText)),
    releaseSecrets: (unneeded, { keep, spared = {} }) =>
      edits(async () => {
        const names = [...unneeded, ...Object.keys(spared)]
        const there = await secretsThere(secretsFile, names)
        const uses = (unsure: readonly string[]) => secretUses(unsure, { projectDir, configFile: configFile() })
        const { removedSecrets, keptSecrets } = await releasable(names, { there, keep, spared, uses })
        return { removedSecrets: await removeSecrets(secretsFile, removedSecrets), keptSecrets }
      }),
  }
}

interface Wish extends SetUpstreamOptions {
  readonly name: string
  readonly entry: Fields
}

interface Places {
  readonly config: EditedFile
  readonly secretsFile: string
  readonly projectDir: string
}

async function setUpstream(wish: Wish, places: Places): Promise<SetUpstream> {
  const { config, secretsFile } = places
  const added: string[] = []
  try {
    const { text: _text, texts, entry: _entry, ...written } = await changed(wish, { ...places, edit: editText, added })
    return { ...written, secrets: Object.keys(texts) }
  } catch (error) {
    // Another process that was faster may share one of them by now.
    const shared = isAppError(error) && error.code === 'EDIT_CONFLICT' ? await secretsNamedIn(config.path) : []
    await removeSecrets(
      secretsFile,
      added.filter(secret => !shared.includes(secret)),
    )
    throw error
  }
}

interface Changing extends Places {
  readonly edit: Edit
  readonly added: string[]
}

function changed(wish: Wish, { config, secretsFile, projectDir, edit, added }: Changing) {
  const { name, entry, replace, consent, secrets = {}, missing = [] } = wish
  refuseName(name)
  return edit(config, async current => {
    const { fields, servers, withServers } = configText(current, config.file)
    const present = presentEntry(name, servers)
    const { entry: wanted, ...versions } = withPresentVersions(entry, present)
    const parts = partsOf(present, wanted)
    // A removed setting may be written again, and then refers to the same secret.
    const others = [{ ...fields, [SERVERS]: { ...servers, [name]: parts.kept } }, parts.gone]
    const place = { secretsFile, projectDir, configFile: config.path, stated: parts.stated, others, added, edit }
    const named = await nameSecrets(wanted, { secrets, missing }, place)
    const isThere = present !== undefined && isSameServer(parts.stated, named.entry)
    const outcome = present === undefined ? 'added' : isThere ? 'unchanged' : 'replaced'
    if (outcome === 'replaced' && !replace) throw taken(name)
    const whole = withKept(named.entry, parts.kept)
    const chosen = isThere || Object.hasOwn(whole, 'consent') || consent === undefined ? {} : { consent }
    const next = isThere ? present : { ...whole, ...chosen }
    const text = withServers({ ...servers, [name]: next })
    // Where nothing is written there is nothing to refuse: what is wrong in the file is told of like any other problem of it.
    if (!isThere) refuseFaults(name, parseDocument(text), config.file)
    const settings = outcome === 'replaced' ? settingsIn(parts, wanted) : {}
    return {
      text,
      file: config.path,
      outcome,
      entry: next as Fields,
      ...chosen,
      ...facts(named, next, parts),
      ...settings,
      ...versions,
    } as const
  })
}

async function previewUpstream(wish: Wish & PreviewOptions, places: Places): Promise<PreviewedUpstream> {
  const { name, env, beside } = wish
  const { config, secretsFile } = places
  const changing = { ...places, edit: previewEdits(), added: [] }
  for (const other of beside) await changed(withNamesLike(wish, other), changing)
  const would = await changed(wish, changing)
  const { text, texts, unneeded, spared, ...facts } = would
  const { secrets: kept } = await readSecrets(secretsFile)
  const answers = new Set(Object.values(facts.missing))
  const added = new Map(Object.entries(texts))
  const secrets = kept && {
    get: (secret: string) => added.get(secret) ?? (answers.has(secret) ? ANY_ANSWER : kept.get(secret)),
  }
  const { upstreams, problems } = readUpstreams(parseDocument(text), { env, secrets, file: config.file })
  return {
    ...facts,
    secrets: Object.keys(texts),
    config: upstreams.configs.get(name),
    masks: upstreams.secrets,
    // A position in a text that is not written yet would mean nothing.
    problems: problems
      .filter(({ subject }) => subject === upstreamUnit(name))
      .map(problem => ({ ...problem, where: config.file })),
    released: await wouldRelease({ unneeded, spared }, text, places),
  }
}

/**
 * One that would be there by then. Where none of its secrets could take a name from this one, how they are named is left out:
 * the whole project is searched for every name.
 */
function withNamesLike(wish: Wish, { name, entry, secrets = {}, missing = [] }: BesideUpstream): Wish {
  const named = (one: Partial<WrittenSecrets>) =>
    [...Object.keys(one.secrets ?? {}), ...(one.missing ?? [])].map(unnumbered)
  const own = new Set(named(wish))
  const areAlike = named({ secrets, missing }).some(secret => own.has(secret))
  return { name, entry, replace: true, ...(areAlike ? { secrets, missing } : {}) }
}

/** By the configuration as it would be. A value that a person would be asked for is taken as given, so no secret is kept for it. */
async function wouldRelease(
  { unneeded, spared }: Pick<SetUpstream, 'unneeded' | 'spared'>,
  text: string,
  { config: { path, file }, secretsFile, projectDir }: Places,
): Promise<ReleasedSecrets | undefined> {
  const names = [...unneeded, ...Object.keys(spared)]
  if (names.length === 0) return undefined
  const there = await secretsThere(secretsFile, names)
  const named = new Set(secretNamesIn(parseDocument(text).value))
  const uses = async (unsure: readonly string[]) => {
    const elsewhere = await secretUses(unsure, { projectDir, configFile: undefined, except: path })
    return new Map([...elsewhere].map(([name, places]) => [name, named.has(name) ? [file, ...places] : places]))
  }
  return releasable(names, { there, keep: false, spared, uses })
}

/** Stands for a value that a person would be asked for. As an address it is valid where one is needed; elsewhere any text is. */
export const ANY_ANSWER = 'https://answer.invalid'

/** The entry of this name. If there is none, no name that differs only in spelling may exist either. */
function presentEntry(name: string, servers: Fields): unknown {
  if (Object.hasOwn(servers, name)) return servers[name]
  const twin = Object.keys(servers).find(other => consentPrefix(other) === consentPrefix(name))
  if (twin === undefined) return undefined
  throw new AppError('NAME_TAKEN', `An upstream cannot be named "${name}". ${tooMuchLike(twin)} Choose another name.`)
}

function facts({ texts, missing }: NamedEntry, next: unknown, { stated, gone }: EntryParts) {
  const named = new Set(secretNamesIn(next))
  const unnamed = (value: unknown) => secretNamesIn(value).filter(name => !named.has(name))
  const spared = new Map(unnamed(gone).map(name => [name, settingsWith(name, gone)]))
  const unneeded = unnamed(stated).filter(name => !spared.has(name))
  return { texts, missing, unneeded, spared: Object.fromEntries(spared) }
}

function settingsWith(secret: string, settings: Fields): string[] {
  return Object.keys(settings).filter(setting => secretNamesIn(settings[setting]).includes(secret))
}

async function secretsNamedIn(file: string): Promise<readonly string[]> {
  const read = await readText(file)
  return read.kind === 'text' ? secretNamesIn(parseDocument(read.text).value) : []
}

async function setConsent(names: readonly string[], consent: UpstreamConsent, config: EditedFile): Promise<void> {
  await editText(config, current => {
    const { servers, withServers } = configText(current, config.file)
    const changed = names.map(name => {
      const entry = Object.hasOwn(servers, name) ? servers[name] : undefined
      if (typeof entry !== 'object' || entry === null) throw unknown(name, Object.keys(servers))
      return [name, { ...entry, consent }]
    })
    return { text: withServers({ ...servers, ...Object.fromEntries(changed) }) }
  })
}

async function removeUpstream(name: string, config: EditedFile, edit: Edit) {
  const { secrets } = await edit(config, current => {
    const { servers, withServers } = configText(current, config.file)
    if (!Object.hasOwn(servers, name)) throw unknown(name, Object.keys(servers))
    const { [name]: gone, ...rest } = servers
    return { text: withServers(rest), secrets: secretNamesIn(gone) }
  })
  return { file: config.path, secrets }
}

/** Names that the configuration cannot hold are told as such: written down, they would be gone when it is read back. */
function refuseName(name: string): void {
  if (!FORBIDDEN_KEYS.has(name)) return
  throw new AppError('INPUT_INVALID', `An upstream cannot be named "${name}". Choose another name.`)
}

/**
 * A position in a text that is not written yet would mean nothing, so only the field is named. Nor is the configuration named,
 * which does not contain it: the given value is wrong.
 */
function refuseFaults(name: string, document: JsonDocument, where: string): void {
  const problems = entryFaults(name, document).map(({ path, message, fix }): Problem => {
    const field = path.join('.')
    return { severity: 'error', code: 'CONFIG_INVALID', where, ...(field !== '' && { field }), message, fix }
  })
  if (problems.length > 0) throw problemsError('INPUT_INVALID', `The upstream "${name}" would not be right:`, problems)
}

function taken(name: string): AppError {
  return new AppError(
    'NAME_TAKEN',
    `There is another upstream "${name}". Choose another name, or replace it: --replace`,
  )
}

function unknown(name: string, known: readonly string[]): AppError {
  const hint = suggestOrList(name, known)
  return new AppError('NAME_UNKNOWN', `The configuration names no upstream "${name}".${hint}`)
}

/** One at a time: concurrent changes would otherwise conflict with each other. */
export function createQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return task => {
    const next = last.then(task, task)
    last = next.catch(() => undefined)
    return next
  }
}
