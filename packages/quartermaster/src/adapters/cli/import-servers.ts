import {
  type AddedUpstream,
  type Control,
  type ForeignQuestion,
  type ForeignServer,
  isAppError,
  messageOf,
  type Problem,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import { argumentNotes } from './argument-notes.ts'
import { defined } from './defined.ts'
import { createAnswers } from './foreign-answers.ts'
import { pinEntry } from './pinning.ts'
import type { Session } from './session.ts'

/** What became of one server of another client. It holds no secret. */
export interface Imported
  extends Pick<ForeignServer, 'name' | 'as' | 'client' | 'file' | 'notes'>,
    Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'> {
  readonly outcome: AddedUpstream['outcome'] | 'wouldBeAdded' | 'skipped' | 'failed'
  /** Why it was skipped or failed. */
  readonly reason?: string | undefined
  readonly granted: readonly string[]
  /** The names of its secrets. */
  readonly secrets: readonly string[]
  readonly problems: readonly Problem[]
  readonly status?: UpstreamStatus | undefined
}

export interface ImportOptions {
  readonly pin: boolean
  readonly replace: boolean
  readonly isDryRun: boolean
  readonly grant?: string[] | false
}

/** Servers start at the same time, so waiting for all takes no longer than for the slowest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 100

/** Adds servers one by one: what is wrong with one keeps no other from being added. */
export async function importServers(
  session: Session,
  servers: readonly ForeignServer[],
  options: ImportOptions,
): Promise<Imported[]> {
  const answersFor = createAnswers(session)
  return session.connect(async control => {
    const imported: Imported[] = []
    for (const server of servers) {
      const answers = server.entry && !options.isDryRun ? await answersFor(server) : {}
      imported.push(
        await session.attend(`Importing ${server.as}`, () => importOne(session, control, { server, answers, options })),
      )
    }
    return options.isDryRun
      ? imported
      : await session.attend('Waiting for the servers', () => withStates(session, control, imported))
  })
}

interface Import {
  readonly server: ForeignServer
  readonly answers: Readonly<Record<string, string>>
  readonly options: ImportOptions
}

async function importOne(session: Session, control: Control, { server, answers, options }: Import): Promise<Imported> {
  const { name, as, client, file, skipped } = server
  const about = {
    name,
    as,
    client,
    file,
    notes: server.notes,
    granted: [],
    secrets: Object.keys(server.secrets),
    problems: [],
  }
  if (server.entry === undefined) return { ...about, outcome: 'skipped', reason: skipped }
  const { entry, notes } = await pinEntry(server.entry, { pin: options.pin, host: session.host })
  const known = { ...about, notes: [...server.notes, ...notes, ...argumentNotes(entry)] }
  if (options.isDryRun)
    return { ...known, notes: [...known.notes, ...server.asks.map(askedNote)], outcome: 'wouldBeAdded' }
  try {
    const unanswered = server.asks.filter(({ secret }) => !Object.hasOwn(answers, secret))
    const { missing, ...added } = await control.addUpstream({
      name: as,
      entry,
      secrets: { ...server.secrets, ...answers },
      ...(unanswered.length > 0 && { missing: unanswered.map(({ secret }) => secret) }),
      replace: options.replace,
      wait: false,
      ...defined({ grant: options.grant }),
    })
    return { ...known, ...told(added), notes: [...known.notes, ...missingNotes(unanswered, missing)] }
  } catch (error) {
    // A taken name is nobody's fault, and everything else may still work for the next one.
    const isTaken = isAppError(error) && error.code === 'NAME_TAKEN'
    return { ...known, secrets: [], outcome: isTaken ? 'skipped' : 'failed', reason: messageOf(error) }
  }
}

function told({ outcome, granted, secrets, removedSecrets, keptSecrets, problems, status }: AddedUpstream) {
  return { outcome, granted, secrets, ...defined({ removedSecrets, keptSecrets }), problems, status }
}

function askedNote({ prompt }: ForeignQuestion): string {
  return `It asks for "${prompt}".`
}

/** Nobody finds out by themselves under which name an answer is looked for. */
function missingNotes(unanswered: readonly ForeignQuestion[], missing: AddedUpstream['missing'] = {}): string[] {
  return unanswered.flatMap(({ secret, prompt }) => {
    const name = Object.hasOwn(missing, secret) ? missing[secret] : undefined
    return name === undefined
      ? []
      : [`Nobody answered "${prompt}". Write it into secrets.json as "${name}", then: quartermaster reload`]
  })
}

/** How each is after its first moments. */
async function withStates({ host }: Session, control: Control, imported: readonly Imported[]): Promise<Imported[]> {
  const names = new Set(imported.filter(one => one.status).map(one => one.as))
  if (names.size === 0) return [...imported]
  for (const until = host.clock.now() + FIRST_LOOK_MS; ; ) {
    const statuses = new Map((await control.upstreams({})).map(status => [status.name, status]))
    const isOver = [...names].every(name => statuses.get(name)?.state !== 'starting') || host.clock.now() >= until
    if (isOver || host.signal.aborted)
      return imported.map(one => (names.has(one.as) ? { ...one, status: statuses.get(one.as) } : one))
    await new Promise<void>(resolve => host.clock.after(LOOK_EVERY_MS, resolve))
  }
}
