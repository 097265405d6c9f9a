import type { ClientKind, ForeignServer, ForeignServers, UpstreamStatus } from '../../../../contracts/index.ts'
import { escapeLine } from '../../output/escape.ts'
import { count, paragraph, type Row, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'
import { asksText } from './add-choices.ts'
import {
  commonLines,
  givenLine,
  keptLines,
  releasedLines,
  removalLine,
  targetLine,
  targetLines,
  targetOf,
  wouldGiveLine,
} from './add-plan.ts'
import type { Imported, ImportedServers } from './import-servers.ts'
import { judgedText } from './review-text.ts'
import { type Asked, askedBy, upstreamSentence } from './upstream-status.ts'

const CLIENTS = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  vscode: 'VS Code',
  file: 'file',
} as const satisfies Record<ClientKind, string>

/** What was found, and how to have it. */
export function foundText({ servers, places }: ForeignServers, printer: Printer): string {
  const rows = servers.map(
    (server): Row => ({
      cells: [
        server.name,
        CLIENTS[server.client],
        server.skipped ?? targetLine(targetOf(server.entry ?? {}, server.secrets)),
      ],
      ...(server.elsewhere !== undefined && { notes: [`for ${server.elsewhere} alone; imported when named`] }),
    }),
  )
  const columns = [{ title: 'Name' }, { title: 'Client' }, { title: 'What it is', flexible: true }]
  return `${servers.length > 0 ? renderTable({ columns, rows }, printer) : ''}${placesText(places, printer)}`
}

/** Files that are there and could not be read. */
function placesText(places: ForeignServers['places'], printer: Printer): string {
  const broken = places.filter(place => place.problem !== undefined)
  return broken
    .map(
      ({ file, problem }) =>
        `${printer.paint.yellow('!')} ${paragraph(`${file}: ${problem}`, { ...printer, width: undefined })}`,
    )
    .join('')
}

/** What became of each, and of others because of them, and all of it in one line. */
export function importedText(
  { servers: imported, judgedAgain, gatewayViews }: ImportedServers,
  { places, isDryRun }: { readonly places: ForeignServers['places']; readonly isDryRun: boolean },
  session: Pick<Session, 'out' | 'from' | 'host'>,
): string {
  const { out: printer } = session
  return [
    ...imported.map(one => oneText(one, { printer, asked: askedBy(session), isDryRun })),
    isDryRun ? commonText(imported, printer) : '',
    judgedText(judgedAgain, printer),
    placesText(places, printer),
    leftText(imported, { printer, isDryRun }),
    `${printer.paint.bold(summary(imported))}\n`,
    ...gatewayViews.map(({ name, granted }) => `${escapeLine(gatewayLine(name, granted))}\n`),
  ].join('')
}

/** What would be done, for a person to see before anything of it runs. */
export function plannedText(planned: readonly Imported[], session: Pick<Session, 'notices' | 'from' | 'host'>): string {
  const { notices: printer } = session
  const telling = { printer, asked: askedBy(session), isDryRun: true }
  return [...planned.map(one => oneText(one, telling)), commonText(planned, printer)].join('')
}

function commonText(planned: readonly Imported[], printer: Printer): string {
  const plans = planned.flatMap(({ outcome, plan }) => (plan && WOULD_COME.has(outcome) ? [plan] : []))
  return commonLines(plans)
    .map(line => paragraph(escapeLine(line), { ...printer, width: undefined }))
    .join('')
}

const WOULD_COME: ReadonlySet<Imported['outcome']> = new Set(['wouldBeAdded', 'wouldBeReplaced'])

/** A person who counts the tools in a client should not think that the others are lost. */
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
const IS_THERE = {
  added: true,
  replaced: true,
  unchanged: true,
  wouldBeAdded: true,
  wouldBeReplaced: true,
  skipped: false,
  failed: false,
} as const satisfies Record<Imported['outcome'], boolean>

const TROUBLED = ['yellow', '!'] as const

/** It is there now, and does not work. */
function isTroubled({ status, problems }: Imported): boolean {
  return problems.length > 0 || (status !== undefined && status.state !== 'up' && status.state !== 'idle')
}

interface Telling {
  readonly printer: Printer
  readonly asked: Asked
  readonly isDryRun: boolean
}

/** Files of the project that hold in clear what the secrets file holds now; each once, however many servers are in it. */
function leftText(imported: readonly Imported[], { printer, isDryRun }: Omit<Telling, 'asked'>): string {
  const left = imported.filter(one => one.isLeftInClear && IS_THERE[one.outcome])
  const files = [...new Set(left.map(one => one.file))]
  const [copied, after] = isDryRun ? ['would be copied', ' after the import'] : ['are copied', '']
  return files
    .map(file => {
      const names = left.filter(one => one.file === file).map(one => one.name)
      const text = `${file}: the secrets of ${names.join(', ')} ${copied}, and still stand there in clear. Remove them there${after}, and keep the file out of version control.`
      return `${printer.paint.yellow('!')} ${paragraph(escapeLine(text), { ...printer, width: undefined })}`
    })
    .join('')
}

function oneText(one: Imported, { printer, asked, isDryRun }: Telling): string {
  const [style, mark] = isTroubled(one) ? TROUBLED : MARKS[one.outcome]
  const wide = { ...printer, width: undefined }
  const there = one.name === one.as ? '' : `, "${one.name}" there`
  const state = isDryRun ? wouldBeText(one) : stateText(one.status, asked)
  const head = `${one.as} (${CLIENTS[one.client]}${there})${one.reason === undefined ? state : `: ${one.reason}`}`
  const lines = [...(isDryRun ? wouldBeLines(one) : doneLines(one)), ...one.notes]
  // Names and questions come from another client: one with a line break would look like another server.
  return [
    `${printer.paint[style](mark)} ${paragraph(escapeLine(head), wide)}`,
    ...lines.filter(line => line !== '').map(line => paragraph(escapeLine(line), wide, '  ')),
    ...one.problems.map(problem => problemBlock(problem, printer)),
  ].join('')
}

function doneLines(one: Imported): string[] {
  return [
    IS_THERE[one.outcome] ? givenLine(one.as, one) : '',
    asksText(one.status),
    one.secrets.length > 0 ? `Kept in the secrets file: ${one.secrets.join(', ')}.` : '',
    ...releasedLines(one),
    ...keptLines(one),
  ]
}

const WOULD_BE: Partial<Record<Imported['outcome'], string>> = {
  unchanged: 'it is there already',
  wouldBeReplaced: 'it would take the place of the one that is there',
}

/** How one would be is known only where nothing would be started, or could be. */
function wouldBeText({ outcome, status }: Imported): string {
  const becomes = WOULD_BE[outcome]
  const stands =
    status && `${outcome === 'unchanged' ? 'is' : 'would be'} ${status.state}: ${status.reason.replace(/\.+$/, '')}`
  if (becomes === undefined) return stands === undefined ? '' : `: it ${stands}`
  return `: ${becomes}${stands === undefined ? '' : `, and ${stands}`}`
}

function wouldBeLines(one: Imported): string[] {
  const { outcome, secrets } = one
  if (!IS_THERE[outcome]) return []
  // What is there already was looked at when it came.
  const plan = WOULD_COME.has(outcome) ? one.plan : undefined
  const kept = outcome === 'unchanged' ? 'Kept' : 'Would be kept'
  return [
    ...(plan ? targetLines(plan) : []),
    wouldGiveLine(one),
    secrets.length > 0 ? `${kept} in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(one, { isDryRun: true }),
    ...keptLines(one, { isDryRun: outcome !== 'unchanged' }),
    removalLine(plan?.removal, one.client === 'file' ? 'that file' : CLIENTS[one.client]),
  ]
}

function stateText(status: UpstreamStatus | undefined, asked: Asked): string {
  return status ? `: ${upstreamSentence(status, asked)}` : ''
}

/** How many can be had, and how, for who is asked to choose: what is for another folder alone comes only by its name. */
export function choiceText(servers: readonly ForeignServer[]): string {
  const importable = servers.filter(server => server.entry !== undefined)
  const here = importable.filter(server => server.elsewhere === undefined).length
  const elsewhere = importable.length - here
  const all = `${count(here, 'server')} can be imported: quartermaster import --all, or name a client or servers\n`
  const named = `${count(elsewhere, 'server')} for other folders can be imported by name: quartermaster import NAME\n`
  if (importable.length === 0) return 'None of them can be imported. Name a file: quartermaster import FILE\n'
  return `${here > 0 ? all : ''}${elsewhere > 0 ? named : ''}`
}
