import {
  type AddedUpstream,
  type AgentSummary,
  AppError,
  type Control,
  type ForeignQuestion,
  type ForeignServer,
  isAppError,
  messageOf,
  type Problem,
  type UpstreamConsent,
  type UpstreamStatus,
  type WishedUpstream,
} from '../../../../contracts/index.ts'
import { canAsk } from '../../ask.ts'
import { defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import type { Session } from '../../session.ts'
import { chooseConsent, DEFAULT_CONSENT } from './add-choices.ts'
import { planOf, type UpstreamPlan } from './add-plan.ts'
import { argumentNotes, notesBut, type PinnedEntry, pinEntry } from './pinning.ts'
import { type JudgedAgain, watchReview } from './review-text.ts'
import { firstStates } from './upstream-status.ts'

/** What became of one server of another client. It holds no secret. */
export interface Imported
  extends Pick<ForeignServer, 'name' | 'as' | 'client' | 'file' | 'isLeftInClear' | 'notes'>,
    Pick<AddedUpstream, 'alsoHave' | 'madeAgent' | 'removedSecrets' | 'keptSecrets' | 'consent'>,
    Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'> {
  readonly outcome: AddedUpstream['outcome'] | 'wouldBeAdded' | 'wouldBeReplaced' | 'skipped' | 'failed'
  /** Why it was skipped or failed. */
  readonly reason?: string | undefined
  readonly granted: readonly string[]
  /** The names of its secrets. */
  readonly secrets: readonly string[]
  readonly problems: readonly Problem[]
  readonly status?: UpstreamStatus | undefined
  /** What it runs and what is written for it; absent of what is not taken over. */
  readonly plan?: UpstreamPlan | undefined
}

interface ImportOptions {
  readonly pin: boolean
  readonly replace: boolean
  readonly isDryRun: boolean
  readonly consent?: UpstreamConsent
  readonly yes?: boolean
  readonly grant?: string[] | false
  /** Shows what would be done before anything of it runs, and answers whether it is wanted. */
  confirm(planned: readonly Imported[]): Promise<boolean>
}

/** What became of all of them, and of others because of them. */
export interface ImportedServers {
  readonly servers: readonly Imported[]
  readonly judgedAgain: readonly JudgedAgain[]
  /** Agents whose clients list others in the place of their tools: because they have so many by now, or because they are to. */
  readonly gatewayViews: readonly Pick<AgentSummary, 'name' | 'granted'>[]
}

/** Adds servers once a person has seen what that would do and wants it; answers nothing where they do not. */
export async function importServers(
  session: Session,
  servers: readonly ForeignServer[],
  options: ImportOptions,
): Promise<ImportedServers | undefined> {
  const pin = createPin(session, options)
  return session.connect(async control => {
    const planned = await importEach(session, control, servers, { ...options, pin, isDryRun: true })
    if (options.isDryRun) return { servers: planned, judgedAgain: [], gatewayViews: [] }
    if (session.host.signal.aborted) throw new AppError('CANCELLED', 'Cancelled.')
    if (planned.some(isNews) && !(await options.confirm(planned))) return undefined
    const judged = await watchReview(session, control)
    const imported = await importEach(session, control, servers, { ...options, pin })
    const isAnyThere = imported.some(one => one.status)
    if (!isAnyThere) return { servers: imported, judgedAgain: [], gatewayViews: [] }
    const settled = await withFirstStates(session, control, imported)
    // What the last of them brings may be what the first, or one that was there before, speaks of.
    const judgedAgain = await judged(imported.filter(isFresh).map(one => one.as))
    const last = await withLastStates(session, control, settled)
    const there = await chooseConsent(session, control, last, options)
    return { servers: there, judgedAgain, gatewayViews: await gatewayViews(session, control, there) }
  })
}

interface EachOptions extends Omit<ImportOptions, 'pin'> {
  pin(entry: Entry, options: { isDryRun: boolean }): Promise<PinnedEntry>
}

type Entry = Readonly<Record<string, unknown>>

/** What is written is what was shown: npm is asked once for each package. */
function createPin(session: Session, { pin }: ImportOptions): EachOptions['pin'] {
  const versions = new Map<string, Promise<string>>()
  const packageVersion = (wanted: string) => {
    const version = versions.get(wanted) ?? session.host.packageVersion(wanted)
    versions.set(wanted, version)
    return version
  }
  return (entry, { isDryRun }) => pinEntry(entry, { pin, isDryRun, host: { packageVersion } })
}

/** One by one: what is wrong with one keeps no other from being added. What is wrong here is told once, and ends it. */
async function importEach(
  session: Session,
  control: Control,
  servers: readonly ForeignServer[],
  options: EachOptions,
): Promise<Imported[]> {
  const answersFor = createAnswers(session)
  const imported: Imported[] = []
  const beside: WishedUpstream[] = []
  const bring = async (server: ForeignServer) => {
    const answers = server.entry && !options.isDryRun ? await answersFor(server) : {}
    const wish = { server, answers, options, before: imported, beside }
    return session.attend(`${options.isDryRun ? 'Looking at' : 'Importing'} ${server.as}`, () =>
      importOne(control, wish),
    )
  }
  let end = LEFT
  for (const server of servers) {
    const one = await bring(server).catch(error => {
      end = endOf(session, error, imported)
      return { ...aboutOf(server), outcome: 'failed', reason: end.reason } as const
    })
    imported.push(one)
    if (isComing(one)) beside.push(wished(server))
    if (session.host.signal.aborted || end !== LEFT) break
  }
  return [...imported, ...servers.slice(imported.length).map(server => untried(server, end.others))]
}

interface Import {
  readonly server: ForeignServer
  readonly answers: Readonly<Record<string, string>>
  readonly options: EachOptions
  /** What became of those before it. */
  readonly before: readonly Imported[]
  /** Those of them that would be there by now, if they were not only tried. */
  readonly beside: readonly WishedUpstream[]
}

/** Why an import ends before all were tried. */
interface End {
  /** What is said of the one at which it ends. */
  readonly reason: string
  /** What is said of those behind it. */
  readonly others: string
}

/** After Ctrl-C the report says what was done until then, and at which server it stopped. */
const LEFT: End = {
  reason: 'It was cut off. See whether it is there: quartermaster upstreams',
  others: 'It was not reached before Ctrl-C.',
}

/** Where our own configuration is wrong no other could be added either. That is told of none of them, unless more is to be told. */
function endOf(session: Session, error: unknown, before: readonly Imported[]): End {
  if (session.host.signal.aborted) return LEFT
  if (!isWrongHere(error) || before.every(isSkipped)) throw error
  return { reason: messageOf(error), others: 'It was not tried, because the configuration here is wrong.' }
}

/** What is wrong with a server that is to be added has another code. */
function isWrongHere(error: unknown): boolean {
  return isAppError(error) && error.code === 'CONFIG_INVALID'
}

function untried(server: ForeignServer, reason: string): Imported {
  return { ...aboutOf(server), outcome: 'skipped', reason: server.skipped ?? reason }
}

function aboutOf({ name, as, client, file, isLeftInClear, notes }: ForeignServer) {
  return { name, as, client, file, ...defined({ isLeftInClear }), notes, granted: [], secrets: [], problems: [] }
}

async function importOne(control: Control, wish: Import): Promise<Imported> {
  const { server, answers, options, before, beside } = wish
  const about = { ...aboutOf(server), secrets: Object.keys(server.secrets) }
  if (server.entry === undefined) return { ...about, outcome: 'skipped', reason: server.skipped }
  const pinned = await options.pin(server.entry, options)
  const entry = { ...pinned.entry, ...defined({ consent: options.consent }) }
  try {
    const unanswered = server.asks.filter(({ secret }) => !Object.hasOwn(answers, secret))
    const { missing, ...added } = await control.addUpstream({
      name: server.as,
      entry,
      secrets: { ...server.secrets, ...answers },
      ...(unanswered.length > 0 && { missing: unanswered.map(({ secret }) => secret) }),
      replace: options.replace,
      wait: false,
      consent: DEFAULT_CONSENT,
      ...defined({ grant: options.grant }),
      ...(options.isDryRun && { dryRun: { beside: [...beside] } }),
    })
    const plan = planOf(entry, { ...added, name: server.as }, server)
    const notes = [
      ...server.notes,
      ...notesBut(pinned, added.keptVersions),
      ...argumentNotes(entry, 'put it into "env" of its entry'),
    ]
    if (options.isDryRun)
      return { ...about, ...wouldBe(told(added), before), plan, notes: [...notes, ...server.asks.map(askedNote)] }
    return { ...about, ...told(added), plan, notes: [...notes, ...missingNotes(unanswered, missing)] }
  } catch (error) {
    if (isWrongHere(error)) throw error
    // A taken name is no failure, and the next server may still be added.
    const isTaken = isAppError(error) && error.code === 'NAME_TAKEN'
    const more = isTaken ? { notes: [...server.notes, otherNameNote(entry)] } : {}
    // What was to be written down was not: neither its secrets nor its version.
    return { ...about, ...more, secrets: [], outcome: isTaken ? 'skipped' : 'failed', reason: messageOf(error) }
  }
}

function told({ outcome, granted, secrets, problems, status, ...more }: AddedUpstream) {
  const { alsoHave, madeAgent, removedSecrets, keptSecrets, consent, keptSettings, goneSettings, keptVersions } = more
  return {
    outcome,
    granted,
    secrets,
    ...defined({ alsoHave, madeAgent, removedSecrets, keptSecrets, consent, keptSettings, goneSettings, keptVersions }),
    problems,
    status,
  }
}

/** What is there only once those before it are: to the next one it counts as if it were. */
function isComing({ outcome }: Imported): boolean {
  return outcome === 'wouldBeAdded' || outcome === 'wouldBeReplaced'
}

/** An entry that exists already and is given to no other agent needs no confirmation. */
function isNews(one: Imported): boolean {
  return isComing(one) || (one.outcome === 'unchanged' && one.granted.length > 0)
}

/** What was asked for it: the next one's secrets get other names than its own, answered or not. */
function wished({ as: name, entry = {}, secrets, asks }: ForeignServer): WishedUpstream {
  return { name, entry, secrets, missing: asks.map(({ secret }) => secret) }
}

/** Nothing was done yet, and the first agent is made once. */
function wouldBe({ outcome, madeAgent, ...facts }: ReturnType<typeof told>, before: readonly Imported[]) {
  const isMadeBefore = before.some(one => one.madeAgent !== undefined)
  return { ...facts, ...(isMadeBefore ? {} : defined({ madeAgent })), outcome: WOULD_BE[outcome] }
}

const WOULD_BE = {
  added: 'wouldBeAdded',
  replaced: 'wouldBeReplaced',
  unchanged: 'unchanged',
} as const satisfies Record<AddedUpstream['outcome'], Imported['outcome']>

/** An import gives no other name. What the entry has is not repeated: it may hold what only looks harmless. */
function otherNameNote({ url }: Readonly<Record<string, unknown>>): string {
  return `Under another name: quartermaster add OTHER ${url === undefined ? '-- COMMAND' : 'URL'}`
}

function askedNote({ prompt }: ForeignQuestion): string {
  return `It asks for "${prompt}".`
}

/** The name under which an answer is stored cannot be guessed, so it is told. */
function missingNotes(unanswered: readonly ForeignQuestion[], missing: AddedUpstream['missing'] = {}): string[] {
  return unanswered.flatMap(({ secret, prompt }) => {
    const name = Object.hasOwn(missing, secret) ? missing[secret] : undefined
    return name === undefined
      ? []
      : [`There is no answer to "${prompt}". Write it into secrets.json as "${name}", then: quartermaster reload`]
  })
}

/** How each is after its first moments. */
async function withFirstStates(session: Session, control: Control, imported: readonly Imported[]): Promise<Imported[]> {
  const names = imported.filter(one => one.status).map(one => one.as)
  return withStatuses(imported, await firstStates(session, control, names))
}

/** The status of each once all are there. After Ctrl-C the last known one stays. */
async function withLastStates(session: Session, control: Control, imported: readonly Imported[]): Promise<Imported[]> {
  const statuses = await session.attend('Looking', () => control.upstreams({})).catch(() => [])
  return withStatuses(imported, new Map(statuses.map(status => [status.name, status])))
}

/** Agents that got something of the import and see it through the gateway view. The import does not fail when this cannot be read. */
async function gatewayViews(session: Session, control: Control, imported: readonly Imported[]) {
  const having = new Set(imported.flatMap(({ granted, alsoHave = [] }) => [...granted, ...alsoHave]))
  const agents = await session.attend('Looking', () => control.agents({})).catch(() => [])
  return agents
    .filter(({ name, view }) => having.has(name) && view === 'gateway')
    .map(({ name, granted }) => ({ name, granted }))
}

function withStatuses(imported: readonly Imported[], states: ReadonlyMap<string, UpstreamStatus>): Imported[] {
  return imported.map(one => (one.status ? { ...one, status: states.get(one.as) ?? one.status } : one))
}

function isSkipped({ outcome }: Imported): boolean {
  return outcome === 'skipped'
}

/** Those that are unchanged were there before. */
function isFresh({ outcome }: Imported): boolean {
  return outcome === 'added' || outcome === 'replaced'
}

/** Answers for what clients would have asked a person, each asked once. */
function createAnswers(session: Session): (server: ForeignServer) => Promise<Record<string, string>> {
  const given = new Map<string, string>()
  return async ({ name, file, asks }) => {
    const answers: Record<string, string> = {}
    for (const { id, secret, prompt, isHidden, fallback } of asks) {
      // By what the client calls it, not by its secret: what another server asks for may want the same name here.
      const question = JSON.stringify([file, id])
      const known = given.get(question)
      const answer = known ?? (canAsk(session) ? await ask(session, { name, prompt, isHidden, fallback }) : fallback)
      if (answer === undefined || answer === '') continue
      given.set(question, answer)
      answers[secret] = answer
    }
    return answers
  }
}

interface Asked {
  readonly name: string
  readonly prompt: string
  readonly isHidden: boolean
  readonly fallback: string | undefined
}

async function ask(
  { host, untilAborted }: Session,
  { name, prompt, isHidden, fallback }: Asked,
): Promise<string | undefined> {
  const usual = fallback === undefined ? '' : ` [${fallback}]`
  const text = escapeLine(`${name} asks: ${prompt}${usual}`)
  const answer = await untilAborted(host.io.stdin.question(`${text}: `, { signal: host.signal, isHidden }))
  return answer.trim() || fallback
}
