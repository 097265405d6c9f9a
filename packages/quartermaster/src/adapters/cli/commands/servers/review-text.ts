import type { Control, ReviewItem, UpstreamFinding } from '../../../../contracts/index.ts'
import { escapeHidden, escapeLine } from '../../output/escape.ts'
import { count, paragraph, wrap } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import type { Session } from '../../session.ts'

/** Beyond this a person reads a file, not a terminal. More than a difference is ever long. */
const MOST_SHOWN = 10_000

const STATES = {
  new: 'It was added or reworded after the first look, and has not been accepted.',
  changed: 'It is not what was accepted.',
  suspicious: 'It is held for what was found in it.',
  rejected: 'It was rejected.',
  warned: 'It is offered. Accept it to end the warning, or reject it.',
  offered: 'It is offered.',
} as const satisfies Record<ReviewItem['state'], string>

/** What waits for a person, each thing with its difference and what was found in it; nothing in it is hidden. */
export function reviewText(items: readonly ReviewItem[], printer: Printer): string {
  return items.map(item => itemText(item, printer)).join('\n')
}

/** `tool:read`, as it is written on the command line. */
export function itemName({ kind, name }: Pick<ReviewItem, 'kind' | 'name'>): string {
  return `${kind}:${oneLine(name)}`
}

/** Where a line break would let a server write lines of ours. */
function oneLine(text: string): string {
  return visible(text.replaceAll('\n', '\\n'))
}

/** Everything hidden is written in one way, also what comes written out already. */
function visible(text: string): string {
  return escapeHidden(text.replaceAll('\r\n', '\n').replace(CONTROL, inBraces))
}

const CONTROL = /(?!\n)\p{Cc}/gu

function inBraces(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** Long enough that no server finds a second definition whose hash begins alike. */
const SHOWN_HASH = 16

/** `tool:read@3f9ac02b41d7e865`: this and no other version of it. */
export function versionName(item: ReviewItem): string {
  return `${itemName(item)}@${item.hash.slice(0, SHOWN_HASH)}`
}

function itemText(item: ReviewItem, printer: Printer): string {
  const { paint } = printer
  const head = `${paint.bold(`${item.upstream} ${versionName(item)}`)}  ${paint.yellow(item.state)}\n`
  return [
    head,
    block(STATES[item.state], '  ', printer),
    item.clash === undefined ? '' : clashText(item.clash, printer),
    ...item.findings.map(finding => findingText(finding, printer)),
    ...item.changes.map(change => changeText(change, printer)),
  ].join('')
}

/** The person who accepts it must know that it is still not offered. */
function clashText(clash: string, printer: Printer): string {
  return `  ${printer.paint.yellow('!')} ${block(clash, '    ', printer).slice(4)}`
}

function findingText({ rule, strength, field, message, excerpt }: UpstreamFinding, printer: Printer): string {
  const mark = strength === 'strong' ? printer.paint.red('✗') : printer.paint.yellow('!')
  const text = block(`${message} (${rule} in ${oneLine(field)})`, '    ', printer).slice(4)
  return `  ${mark} ${text}${excerpt === '' ? '' : block(excerpt, '      ', printer)}`
}

function changeText({ field, before, after }: ReviewItem['changes'][number], printer: Printer): string {
  const { paint } = printer
  return [
    `  ${paint.bold(oneLine(field))}\n`,
    before === undefined ? '' : marked('-', before, paint.red, printer),
    after === undefined ? '' : marked('+', after, paint.green, printer),
  ].join('')
}

function marked(mark: string, text: string, style: (text: string) => string, printer: Printer): string {
  const lines = block(text, '', { ...printer, width: printer.width === undefined ? undefined : printer.width - 6 })
  return lines
    .trimEnd()
    .split('\n')
    .map(line => `    ${style(`${mark} ${line}`)}\n`)
    .join('')
}

function block(text: string, indent: string, { width }: Printer): string {
  const shown =
    text.length > MOST_SHOWN
      ? `${text.slice(0, MOST_SHOWN)}… (${count(text.length - MOST_SHOWN, 'more character')}; all of it with --json)`
      : text
  const escaped = visible(shown)
  const lines = width === undefined ? escaped.split('\n') : wrap(escaped, Math.max(20, width - indent.length))
  return `${lines.map(line => indent + line).join('\n')}\n`
}

/** Something of a server that was there before, held back or warned of since others came: what servers say of others counts. */
export type JudgedAgain = Pick<ReviewItem, 'upstream' | 'kind' | 'name' | 'state'>

type Asked = Pick<Control, 'upstreams' | 'reviewItems'>

/** Notes what is in review of those that were seen. Answers who says, when all is done, what came to that of others than these. */
export async function watchReview(
  session: Session,
  control: Asked,
): Promise<(fresh: readonly string[]) => Promise<JudgedAgain[]>> {
  const known = await quietly(session, () => knownNow(control), { seen: new Set<string>(), states: new Map() })
  return async fresh => {
    const items = await quietly(session, () => control.reviewItems({}), [])
    const isOther = ({ upstream }: ReviewItem) => known.seen.has(upstream) && !fresh.includes(upstream)
    return items
      .filter(item => isOther(item) && isNews(item.state, known.states.get(keyOf(item))))
      .map(({ upstream, kind, name, state }) => ({ upstream, kind, name, state }))
  }
}

type States = ReadonlyMap<string, ReviewItem['state']>

/** What a server shows on its first connection was not caused by servers added now. */
async function knownNow(control: Asked): Promise<{ seen: ReadonlySet<string>; states: States }> {
  const statuses = await control.upstreams({})
  const seen = new Set(statuses.filter(({ unseen }) => unseen === undefined).map(({ name }) => name))
  const items = seen.size === 0 ? [] : await control.reviewItems({})
  return { seen, states: new Map(items.map(item => [keyOf(item), item.state])) }
}

/** The person who adds something gets that answer, even when the review cannot be read. */
async function quietly<T>(session: Session, look: () => Promise<T>, otherwise: T): Promise<T> {
  return session.attend('Looking', look).catch(() => otherwise)
}

/** Only findings come by others. What was held already is no news. */
function isNews(now: ReviewItem['state'], before: ReviewItem['state'] | undefined): boolean {
  const wasOffered = before === undefined || before === 'offered'
  return now === 'suspicious' ? wasOffered || before === 'warned' : now === 'warned' && wasOffered
}

function keyOf({ upstream, kind, name }: ReviewItem): string {
  return `${upstream} ${kind} ${name}`
}

/** A line for each server that was there before. */
export function judgedText(judged: readonly JudgedAgain[], printer: Printer): string {
  const upstreams = [...new Set(judged.map(({ upstream }) => upstream))]
  return upstreams.map(name => lineOf(name, ofUpstream(judged, name), printer)).join('')
}

function ofUpstream(judged: readonly JudgedAgain[], name: string): JudgedAgain[] {
  return judged.filter(({ upstream }) => upstream === name)
}

function lineOf(name: string, judged: readonly JudgedAgain[], printer: Printer): string {
  const held = judged.filter(({ state }) => state === 'suspicious')
  const warned = judged.filter(({ state }) => state === 'warned')
  const parts = [
    held.length > 0 ? `held for review from now on: ${namesOf(held)}` : '',
    warned.length > 0 ? `warned of from now on: ${namesOf(warned)}` : '',
  ]
  const what = parts.filter(part => part !== '').join('; ')
  const text = `${name}, which was there before: ${what} (quartermaster upstreams review ${name})`
  return `${printer.paint.yellow('!')} ${paragraph(escapeLine(text), { ...printer, width: undefined })}`
}

/** The review shows them all. */
const MOST_NAMED = 5

function namesOf(judged: readonly JudgedAgain[]): string {
  const named = judged.slice(0, MOST_NAMED).map(itemName).join(', ')
  const more = judged.length - MOST_NAMED
  return more > 0 ? `${named} and ${more} more` : named
}
