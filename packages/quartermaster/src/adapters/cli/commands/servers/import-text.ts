import type { ClientKind, ForeignServer, ForeignServers } from '../../../../contracts/index.ts'
import { count, renderTable, unwrapped } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import {
  asksText,
  commonLines,
  grantLine,
  keptLines,
  releasedLines,
  removalLine,
  targetLine,
  targetLines,
  targetOf,
} from './add-plan.ts'
import type { Imported, ImportedServers } from './import-servers.ts'
import { rejudgedText } from './review-text.ts'
import { type StateSource, upstreamSentence } from './upstream-status.ts'

const CLIENTS = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  vscode: 'VS Code',
  file: 'file',
} as const satisfies Record<ClientKind, string>

/** The servers that were found. */
export function foundText({ servers, places }: ForeignServers, printer: Printer): string {
  const rows = servers.map(({ name, client, skipped, entry = {}, secrets, elsewhere }) => ({
    cells: [name, CLIENTS[client], skipped ?? targetLine(targetOf(entry, secrets))],
    notes: elsewhere === undefined ? [] : [`for ${elsewhere} alone; imported when named`],
  }))
  const columns = ['Name', 'Client', { wraps: 'What it is' }]
  return `${servers.length > 0 ? renderTable(columns, rows, printer) : ''}${unreadableText(places, printer)}`
}

/** Files that exist and could not be read. */
function unreadableText(places: ForeignServers['places'], printer: Printer): string {
  const broken = places.filter(place => place.problem !== undefined)
  return broken.map(({ file, problem }) => warning(`${file}: ${problem}`, printer)).join('')
}

function warning(text: string, { paint }: Printer): string {
  return `${paint.yellow('!')} ${unwrapped(text)}`
}

/** The outcome of each server, the effects on others, and a summary. */
export function importedText(
  { servers: imported, judgedAgain, gatewayViews }: ImportedServers,
  { places, isDryRun }: { readonly places: ForeignServers['places']; readonly isDryRun: boolean },
  session: Session,
): string {
  const { out } = session
  return [
    ...imported.map(one => serverText(one, { printer: out, source: session, isDryRun })),
    isDryRun ? commonText(imported) : '',
    rejudgedText(judgedAgain, out),
    unreadableText(places, out),
    leftInClearText(imported, out, isDryRun),
    `${out.paint.bold(summary(imported))}\n`,
    ...gatewayViews.map(({ name, granted }) => `${escapeLine(gatewayLine(name, granted))}\n`),
  ].join('')
}

/** What would be done, for a person to see before anything of it runs. */
export function plannedText(planned: readonly Imported[], session: Session): string {
  const context = { printer: session.notices, source: session, isDryRun: true }
  return [...planned.map(one => serverText(one, context)), commonText(planned)].join('')
}

function commonText(planned: readonly Imported[]): string {
  const plans = planned.flatMap(({ outcome, plan }) => (plan && WOULD_COME.has(outcome) ? [plan] : []))
  const lines = commonLines(plans)
  return lines.map(line => unwrapped(escapeLine(line))).join('')
}

const WOULD_COME: ReadonlySet<Imported['outcome']> = new Set(['wouldBeAdded', 'wouldBeReplaced'])

/** A person who counts the tools in a client must not think that the others are lost. */
function gatewayLine(agent: string, granted: number): string {
  return `"${agent}" has ${count(granted, 'tool')} now: its clients list five, which find and call all of them.`
}

function summary(imported: readonly Imported[]): string {
  const amount = (...outcomes: Imported['outcome'][]) => imported.filter(one => outcomes.includes(one.outcome)).length
  const coming = amount('wouldBeAdded', 'wouldBeReplaced')
  const parts = [
    `${amount('added', 'replaced')} imported`,
    coming > 0 ? `${coming} would be imported` : '',
    amount('unchanged') > 0 ? `${amount('unchanged')} there already` : '',
    `${amount('skipped')} skipped`,
    amount('failed') > 0 ? `${amount('failed')} failed` : '',
  ]
  return `${parts.filter(part => part !== '').join(', ')}.`
}

const MARKS = {
  added: ['green', '✓'],
  replaced: ['green', '✓'],
  unchanged: ['dim', '='],
  wouldBeAdded: ['green', '+'],
  wouldBeReplaced: ['green', '+'],
  skipped: ['yellow', '-'],
  failed: ['red', '✗'],
} as const satisfies Record<Imported['outcome'], readonly [keyof Printer['paint'], string]>

/** Servers that were not added are given to no agent, and no grant is proposed for them. */
const isThere = ({ outcome }: Imported) => outcome !== 'skipped' && outcome !== 'failed'

/** It was added, and does not work. */
function isTroubled({ status, problems }: Imported): boolean {
  return problems.length > 0 || (status !== undefined && status.state !== 'up' && status.state !== 'idle')
}

/** Files of the project that contain in clear what the secrets file contains now; each file once. */
function leftInClearText(imported: readonly Imported[], printer: Printer, isDryRun: boolean): string {
  const left = imported.filter(one => one.isLeftInClear && isThere(one))
  const files = [...new Set(left.map(one => one.file))]
  const [copied, after] = isDryRun ? ['would be copied', ' after the import'] : ['are copied', '']
  const lines = files.map(file => {
    const names = left.filter(one => one.file === file).map(one => one.name)
    return `${file}: the secrets of ${names.join(', ')} ${copied}, and still stand there in clear. Remove them there${after}, and keep the file out of version control.`
  })
  return lines.map(line => warning(escapeLine(line), printer)).join('')
}

function serverText(
  one: Imported,
  { printer, source, isDryRun }: { printer: Printer; source: StateSource; isDryRun: boolean },
): string {
  const [style, mark] = isTroubled(one) ? (['yellow', '!'] as const) : MARKS[one.outcome]
  const otherName = one.name === one.as ? '' : `, "${one.name}" there`
  const state = isDryRun ? plannedState(one) : one.status && upstreamSentence(one.status, source)
  const text = one.reason ?? state ?? ''
  const head = `${one.as} (${CLIENTS[one.client]}${otherName})${text === '' ? '' : `: ${text}`}`
  const lines = [...(isDryRun ? plannedLines(one) : doneLines(one)), ...one.notes]
  // Names and questions come from another client: a line break could imitate another server.
  return [
    `${printer.paint[style](mark)} ${unwrapped(escapeLine(head))}`,
    ...lines.filter(line => line !== '').map(line => unwrapped(escapeLine(line), '  ')),
    problemBlocks(one.problems, printer),
  ].join('')
}

function doneLines(one: Imported): string[] {
  return [
    isThere(one) ? grantLine(one.as, one) : '',
    asksText(one.status),
    one.secrets.length > 0 ? `Kept in the secrets file: ${one.secrets.join(', ')}.` : '',
    ...releasedLines(one),
    ...keptLines(one),
  ]
}

const OUTCOMES: Partial<Record<Imported['outcome'], string>> = {
  unchanged: 'it is there already',
  wouldBeReplaced: 'it would take the place of the one that is there',
}

/** The state is known only where nothing is started, or could be. */
function plannedState({ outcome, status }: Imported): string {
  const verb = outcome === 'unchanged' ? 'is' : 'would be'
  const state = status && `${verb} ${status.state}: ${status.reason.replace(/\.+$/, '')}`
  const becomes = OUTCOMES[outcome]
  if (state === undefined) return becomes ?? ''
  return becomes === undefined ? `it ${state}` : `${becomes}, and ${state}`
}

function plannedLines(one: Imported): string[] {
  const { outcome, secrets } = one
  if (!isThere(one)) return []
  // An entry that exists already was shown when it was added.
  const plan = WOULD_COME.has(outcome) ? one.plan : undefined
  const kept = outcome === 'unchanged' ? 'Kept' : 'Would be kept'
  return [
    ...(plan ? targetLines(plan) : []),
    grantLine(one.as, one, { isDryRun: true }),
    secrets.length > 0 ? `${kept} in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(one, { isDryRun: true }),
    ...keptLines(one, { isDryRun: outcome !== 'unchanged' }),
    removalLine(plan?.removal, one.client === 'file' ? 'that file' : CLIENTS[one.client]),
  ]
}

/** How many servers can be imported, and by which commands. */
export function choiceText(servers: readonly ForeignServer[]): string {
  const importable = servers.filter(server => server.entry !== undefined)
  const here = importable.filter(server => server.elsewhere === undefined).length
  const elsewhere = importable.length - here
  const all = `${count(here, 'server')} can be imported: quartermaster import --all, or name a client or servers\n`
  const named = `${count(elsewhere, 'server')} for other folders can be imported by name: quartermaster import NAME\n`
  if (importable.length === 0) return 'None of them can be imported. Name a file: quartermaster import FILE\n'
  return `${here > 0 ? all : ''}${elsewhere > 0 ? named : ''}`
}
