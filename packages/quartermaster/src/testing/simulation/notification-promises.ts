import { type Happening, isOver, type Outcome, of } from './history.ts'

/** What is known of the last end of an operation. */
interface End {
  readonly states: string[]
  /** No person retries it. */
  readonly isNow: boolean
  told: number
  /** The processes that announced it. Two that check at the same moment may both find it unannounced. */
  readonly tellers: Set<string>
  markedAt: number
  /** Who ended it. */
  readonly by: string
  /** Its caller got it with the answer. */
  isAnswered: boolean
  /** A caller received it, perhaps by a repeat under the same key. */
  isFetched: boolean
  /** A fault since the last notification: the notifier cannot know that it was sent. */
  isInDoubt: boolean
  /** A fault since it ended: the answering process cannot know that others gave it up for lost. */
  wasInDoubt: boolean
}

/** After these a caller does not know how its call has ended. */
const VAGUE = new Set(['waiting', 'OUTCOME_UNKNOWN', 'STORE_UNAVAILABLE', 'STORE_BUSY', 'INTERNAL'])

/**
 * Every result reaches its caller: with the answer, or announced once. Twice only where something went wrong in between, or
 * where another process ended it than the one that answers.
 */
export function toldOnce(outcome: Outcome): string[] {
  const { history } = outcome
  const callers = callersOf(history)
  const ends = new Map<string, End>()
  const wrong: string[] = []
  for (const one of history) {
    if (one.kind === 'moved') noteMove(ends, one)
    if (one.kind === 'fault') for (const id of one.operations) doubt(ends.get(id))
    if (one.kind === 'died' || one.kind === 'slept') for (const end of ends.values()) doubt(end)
    if (one.kind === 'marked') for (const id of one.operations) mark(ends.get(id), one.at)
    if (one.kind === 'told') wrong.push(...noteTold(ends, one, callers))
    if (one.kind === 'answered') wrong.push(...noteAnswer(ends, one, callers))
    if (one.kind === 'forgotten') wrong.push(...one.operations.flatMap(id => forgotten(id, ends.get(id), callers)))
  }
  return [...wrong, ...outcome.rows.flatMap(row => untold(row, ends.get(row.id), callers))]
}

interface Caller {
  readonly call: number
  readonly node: string
  readonly isTask: boolean
  /** What it was answered; nothing when it, or its process, was gone before. */
  readonly said: string | undefined
  /** A repeat under its key got it by an error, or was under way in a process that went away. */
  readonly isRepeatGone: boolean
}

/** Who began each operation. */
function callersOf(history: readonly Happening[]): ReadonlyMap<string, Caller> {
  const calls = new Map(of(history, 'called').map(one => [one.call, one]))
  const gone = new Set([...of(history, 'died'), ...of(history, 'stopped')].map(({ node }) => node))
  const left = new Set(of(history, 'left').map(({ call }) => call))
  const answers = new Map(of(history, 'answered').map(({ call, said }) => [call, said]))
  // An error of a repeat does not say which operation it is about.
  const nameless = new Set(of(history, 'answered').flatMap(one => (one.operation === '' ? one.call : [])))
  const lost = [...calls.values()].filter(
    ({ call, node }) => nameless.has(call) || ((gone.has(node) || left.has(call)) && !answers.has(call)),
  )
  const lostKeys = new Set(lost.map(({ key }) => key))
  return new Map(
    of(history, 'recorded').map(({ call, operation }) => {
      const { isTask = false, node = '', key } = calls.get(call) ?? {}
      return [
        operation,
        {
          call,
          node,
          isTask,
          said: answers.get(call),
          isRepeatGone: key !== undefined && lostKeys.has(key),
        },
      ]
    }),
  )
}

function noteMove(ends: Map<string, End>, { operation, to, node }: Extract<Happening, { kind: 'moved' }>): void {
  const states = [...(ends.get(operation)?.states ?? []), ...(isOver(to) ? [to] : [])]
  ends.set(operation, {
    states,
    isNow: isOver(to),
    told: 0,
    tellers: new Set(),
    markedAt: Infinity,
    by: node,
    isAnswered: false,
    isFetched: false,
    isInDoubt: false,
    wasInDoubt: false,
  })
}

function doubt(end: End | undefined): void {
  if (!end) return
  end.isInDoubt = true
  end.wasInDoubt = true
  end.tellers.clear()
}

function mark(end: End | undefined, at: number): void {
  if (end) end.markedAt = Math.min(end.markedAt, at)
}

type Telling = Extract<Happening, { kind: 'told' }>

function noteTold(
  ends: Map<string, End>,
  { at, node, operation: id, state }: Telling,
  callers: ReadonlyMap<string, Caller>,
): string[] {
  const end = ends.get(id)
  if (!end?.states.includes(state)) return [`${id} was told as ${state}, which it never was.`]
  // What was told is what was there when it was read; what came since is told by itself.
  if (end.states.at(-1) !== state) return []
  const wrong: string[] = []
  const couldKnow = end.tellers.has(node) || end.markedAt < at
  if (end.told > 0 && couldKnow && !end.isInDoubt) wrong.push(`The end of ${id} was told twice.`)
  const isAnsweredThere = end.isAnswered && end.by === callers.get(id)?.node
  if (isAnsweredThere && (end.told === 0 || couldKnow) && !end.isInDoubt)
    wrong.push(`The end of ${id} was told to a caller who had got it.`)
  end.told++
  end.tellers.add(node)
  end.isInDoubt = false
  return wrong
}

function noteAnswer(
  ends: Map<string, End>,
  { operation: id, said, call }: Extract<Happening, { kind: 'answered' }>,
  callers: ReadonlyMap<string, Caller>,
): string[] {
  const [end, caller] = [ends.get(id), callers.get(id)]
  if (end?.isNow && said !== 'waiting') end.isFetched = true
  if (!end || caller?.call !== call || caller.isTask || VAGUE.has(said) || end.states.length !== 1) return []
  end.isAnswered = true
  const wrong =
    end.isNow && !agrees(said, end.states[0]) ? [`${id} ended as ${end.states[0]}, and ${said} was answered.`] : []
  if (end.told > 0 && !end.wasInDoubt && end.by === caller.node)
    wrong.push(`The end of ${id} was told, and answered as well.`)
  return wrong
}

/** A caller told that it was not done must not find that it was, and the other way round. */
function agrees(said: string, state: string | undefined): boolean {
  return said === 'done' ? state === 'succeeded' || state === 'failed' : state !== 'succeeded'
}

/** Only what is over, and was told, may be forgotten. A task's own time counts more: its caller has said how long it asks. */
function forgotten(id: string, end: End | undefined, callers: ReadonlyMap<string, Caller>): string[] {
  const caller = callers.get(id)
  const isKnown = end && (end.told > 0 || end.isAnswered || caller?.isTask || isLeftToCaller(caller))
  return isKnown && end.isNow ? [] : [`${id} was forgotten before its end was told.`]
}

/** It was to be had with the answer, which came. */
function isLeftToCaller(caller: Caller | undefined): boolean {
  return caller?.said !== undefined && !caller.isTask && caller.said !== 'waiting'
}

function untold(
  { id, state, outcome, tellAt, announcedAt }: Outcome['rows'][number],
  end: End | undefined,
  callers: ReadonlyMap<string, Caller>,
): string[] {
  if (!isOver(state)) return []
  if (tellAt !== null) return [`The end of ${id} was never told.`]
  if (announcedAt === null) return [`Nobody knows of the end of ${id}.`]
  // Its caller was told that it could not be written down and was not run, and does not know under which id it was after all.
  if (!end || (!callers.has(id) && outcome === null)) return []
  if (end.told > 0 || end.isFetched || callers.get(id)?.isRepeatGone) return []
  // A result that came after a person's decision answers no caller.
  if (end.states.length === 1 && isLeftToCaller(callers.get(id))) return []
  return [`The end of ${id} was marked as told and was not.`]
}
