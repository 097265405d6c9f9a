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
import { escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { chooseConsent, DEFAULT_CONSENT, planOf, type UpstreamPlan } from './add-plan.ts'
import { argumentNotes, notesBut, type PinnedEntry, pinEntry } from './pinning.ts'
import { type Rejudged, watchReview } from './review-text.ts'
import { firstStates } from './upstream-status.ts'

/** The outcome of one server of another client. It holds no secret. */
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
  /** Absent for a server that is not imported. */
  readonly plan?: UpstreamPlan | undefined
}

interface ImportOptions {
  readonly pin: boolean
  readonly replace: boolean
  readonly isDryRun: boolean
  readonly consent?: UpstreamConsent
  readonly yes?: boolean
  readonly grant?: string[] | false
  /** Shows what would be done before anything of it runs, and answers whether the person wants it. */
  confirm(planned: readonly Imported[]): Promise<boolean>
}

export interface ImportedServers {
  readonly servers: readonly Imported[]
  readonly judgedAgain: readonly Rejudged[]
  /** Agents that see the gateway view now, instead of their tools. */
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
    // An entry that exists already and is given to no other agent needs no confirmation.
    const isNews = planned.some(one => isComing(one) || (one.outcome === 'unchanged' && one.granted.length > 0))
    if (isNews && !(await options.confirm(planned))) return undefined
    const rejudged = await watchReview(session, control)
    const imported = await importEach(session, control, servers, { ...options, pin, isDryRun: false })
    const names = imported.filter(one => one.status).map(one => one.as)
    if (names.length === 0) return { servers: imported, judgedAgain: [], gatewayViews: [] }
    const first = await firstStates(session, control, names)
    // The review is read once all are connected: the tools of the last server may affect those of the first.
    const isAdded = ({ outcome }: Imported) => outcome === 'added' || outcome === 'replaced'
    const judgedAgain = await rejudged(imported.filter(isAdded).map(one => one.as))
    // After Ctrl-C the last known states stay.
    const statuses = await session.attend('Looking', () => control.upstreams({})).catch(() => [])
    const last = new Map([...first, ...statuses.map(status => [status.name, status] as const)])
    const withStates = imported.map(one => (one.status ? { ...one, status: last.get(one.as) ?? one.status } : one))
    const chosen = await chooseConsent(session, control, withStates, options)
    return { servers: chosen, judgedAgain, gatewayViews: await gatewayViews(session, control, chosen) }
  })
}

/** The import does not fail when the agents cannot be read. */
async function gatewayViews(session: Session, control: Control, imported: readonly Imported[]) {
  const having = new Set(imported.flatMap(({ granted, alsoHave = [] }) => [...granted, ...alsoHave]))
  const agents = await session.attend('Looking', () => control.agents({})).catch(() => [])
  return agents
    .filter(({ name, view }) => having.has(name) && view === 'gateway')
    .map(({ name, granted }) => ({ name, granted }))
}

interface EachOptions extends Omit<ImportOptions, 'pin'> {
  pin(entry: Entry, options: { isDryRun: boolean }): Promise<PinnedEntry>
}

type Entry = Readonly<Record<string, unknown>>

/** Asks npm once for each package, so that the versions that are written are those that were shown. */
function createPin(session: Session, { pin }: ImportOptions): EachOptions['pin'] {
  const versions = new Map<string, Promise<string>>()
  const packageVersion = (wanted: string) => {
    const version = versions.get(wanted) ?? session.host.packageVersion(wanted)
    versions.set(wanted, version)
    return version
  }
  return (entry, { isDryRun }) => pinEntry(entry, { pin, isDryRun, host: { packageVersion } })
}

/** Why an import ends before all servers were tried. */
interface End {
  /** The reason for the server at which it ends. */
  readonly reason: string
  /** The reason for those after it. */
  readonly others: string
}

const INTERRUPTED: End = {
  reason: 'It was cut off. See whether it is there: quartermaster upstreams',
  others: 'It was not reached before Ctrl-C.',
}

/** One by one: what is wrong with one server keeps no other from being added. */
async function importEach(
  session: Session,
  control: Control,
  servers: readonly ForeignServer[],
  options: EachOptions,
): Promise<Imported[]> {
  const answersFor = createAnswers(session)
  const verb = options.isDryRun ? 'Looking at' : 'Importing'
  const imported: Imported[] = []
  /** What a dry run would have added by now. */
  const beside: WishedUpstream[] = []
  let end: End | undefined
  for (const server of servers) {
    const { as: name, entry = {}, secrets, asks } = server
    let one: Imported
    try {
      const answers = server.entry && !options.isDryRun ? await answersFor(server) : {}
      const state = { answers, before: imported, beside }
      one = await session.attend(`${verb} ${name}`, () => importOne(control, server, options, state))
    } catch (error) {
      end = endOf(session, error, imported)
      one = { ...factsOf(server), outcome: 'failed', reason: end.reason }
    }
    imported.push(one)
    // The secrets that are asked for count too, so that the secrets of the next server get other names.
    if (isComing(one)) beside.push({ name, entry, secrets, missing: asks.map(({ secret }) => secret) })
    if (session.host.signal.aborted || end) break
  }
  const { others } = end ?? INTERRUPTED
  const untried = servers
    .slice(imported.length)
    .map((server): Imported => ({ ...factsOf(server), outcome: 'skipped', reason: server.skipped ?? others }))
  return [...imported, ...untried]
}

/** With a wrong configuration of ours no server can be added, which is thrown unless others were added before. */
function endOf(session: Session, error: unknown, before: readonly Imported[]): End {
  if (session.host.signal.aborted) return INTERRUPTED
  if (!isWrongHere(error) || before.every(({ outcome }) => outcome === 'skipped')) throw error
  return { reason: messageOf(error), others: 'It was not tried, because the configuration here is wrong.' }
}

/** Our own configuration is wrong. A wrong entry of the server has another code. */
function isWrongHere(error: unknown): boolean {
  return isAppError(error) && error.code === 'CONFIG_INVALID'
}

/** What would exist after the import, but does not yet. */
function isComing({ outcome }: Imported): boolean {
  return outcome === 'wouldBeAdded' || outcome === 'wouldBeReplaced'
}

function factsOf({ name, as, client, file, isLeftInClear, notes }: ForeignServer) {
  return { name, as, client, file, ...defined({ isLeftInClear }), notes, granted: [], secrets: [], problems: [] }
}

interface ImportState {
  readonly answers: Readonly<Record<string, string>>
  readonly before: readonly Imported[]
  readonly beside: readonly WishedUpstream[]
}

async function importOne(
  control: Control,
  server: ForeignServer,
  options: EachOptions,
  { answers, before, beside }: ImportState,
): Promise<Imported> {
  const facts = { ...factsOf(server), secrets: Object.keys(server.secrets) }
  if (server.entry === undefined) return { ...facts, outcome: 'skipped', reason: server.skipped }
  const pinned = await options.pin(server.entry, options)
  const entry: Entry = { ...pinned.entry, ...defined({ consent: options.consent }) }
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
    if (!options.isDryRun)
      return { ...facts, ...outcomeOf(added), plan, notes: [...notes, ...missingNotes(unanswered, missing)] }
    const asked = server.asks.map(({ prompt }) => `It asks for "${prompt}".`)
    // The first agent is made once, by the first server.
    const isAgentMade = before.some(one => one.madeAgent !== undefined)
    const { madeAgent: _, ...planned } = outcomeOf(added)
    const made = isAgentMade ? {} : defined({ madeAgent: added.madeAgent })
    return { ...facts, ...planned, ...made, outcome: WOULD_BE[added.outcome], plan, notes: [...notes, ...asked] }
  } catch (error) {
    if (isWrongHere(error)) throw error
    // A taken name is no failure, and the next server may still be added.
    const isTaken = isAppError(error) && error.code === 'NAME_TAKEN'
    // The command is not repeated: it may contain a secret that was not recognised.
    const otherName = `Under another name: quartermaster add OTHER ${entry['url'] === undefined ? '-- COMMAND' : 'URL'}`
    const more = isTaken ? { notes: [...server.notes, otherName] } : {}
    // Neither its secrets nor its version were written.
    return { ...facts, ...more, secrets: [], outcome: isTaken ? 'skipped' : 'failed', reason: messageOf(error) }
  }
}

const WOULD_BE = {
  added: 'wouldBeAdded',
  replaced: 'wouldBeReplaced',
  unchanged: 'unchanged',
} as const satisfies Record<AddedUpstream['outcome'], Imported['outcome']>

function outcomeOf({ outcome, granted, secrets, problems, status, ...more }: AddedUpstream) {
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

/** Names the secret for each missing answer, because a person cannot guess it. */
function missingNotes(unanswered: readonly ForeignQuestion[], missing: AddedUpstream['missing'] = {}): string[] {
  return unanswered.flatMap(({ secret, prompt }) => {
    const name = Object.hasOwn(missing, secret) ? missing[secret] : undefined
    if (name === undefined) return []
    return `There is no answer to "${prompt}". Write it into secrets.json as "${name}", then: quartermaster reload`
  })
}

/** Asks the person what their client would have asked, each question once. */
function createAnswers(session: Session): (server: ForeignServer) => Promise<Record<string, string>> {
  const known = new Map<string, string>()
  return async ({ name, file, asks }) => {
    const answers: Record<string, string> = {}
    for (const question of asks) {
      // By the id in the client, because another server may ask for something else with the same name of a secret.
      const key = JSON.stringify([file, question.id])
      const asked = canAsk(session) ? () => ask(session, name, question) : () => question.fallback
      const answer = known.get(key) ?? (await asked())
      if (answer === undefined || answer === '') continue
      known.set(key, answer)
      answers[question.secret] = answer
    }
    return answers
  }
}

async function ask(
  { host, untilAborted }: Session,
  server: string,
  { prompt, isHidden, fallback }: ForeignQuestion,
): Promise<string | undefined> {
  const usual = fallback === undefined ? '' : ` [${fallback}]`
  const text = escapeLine(`${server} asks: ${prompt}${usual}`)
  const answer = await untilAborted(host.io.stdin.question(`${text}: `, { signal: host.signal, isHidden }))
  return answer.trim() || fallback
}
