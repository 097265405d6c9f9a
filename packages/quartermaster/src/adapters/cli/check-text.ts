import type { AgentCheck, ResolutionEntry } from '../../contracts/index.ts'
import { problemBlock } from './explain.ts'
import { count } from './layout.ts'
import type { Printer } from './printer.ts'
import { renderTable } from './table.ts'

const STYLES = { granted: 'green', unavailable: 'red', skipped: 'yellow' } as const satisfies Record<
  ResolutionEntry['state'],
  string
>

/** What an agent gets, what it does not get and why, and what is wrong with its file. */
export function checkText({ report, problems }: AgentCheck, printer: Printer): string {
  const { paint } = printer
  const rows = ORDER.flatMap(state => report.filter(entry => entry.state === state)).map(
    ({ tool, capability, state, reason }) => ({
      cells: [tool, { text: state, style: paint[STYLES[state]] }, capability, reason ?? ''],
    }),
  )
  const columns = [{ title: 'Tool' }, { title: 'State' }, { title: 'Capability' }, { title: 'Reason', flexible: true }]
  const list = problems.map(problem => problemBlock(problem, printer)).join('')
  return (rows.length === 0 ? '' : renderTable({ columns, rows }, printer)) + list
}

/** `2 granted, 1 unavailable`, and how the agent sees them when that is not directly. */
export function checkSummary({ report, problems, view }: AgentCheck): string {
  const amounts = ORDER.map(state => ({ state, amount: report.filter(entry => entry.state === state).length }))
  const parts = amounts
    .filter(({ amount, state }) => amount > 0 || state === 'granted')
    .map(({ amount, state }) => `${amount} ${state}`)
  const seen = view === 'gateway' ? ['through the gateway view'] : []
  return [...parts, ...seen, ...(problems.length > 0 ? [count(problems.length, 'problem')] : [])].join(', ')
}

const ORDER = ['granted', 'unavailable', 'skipped'] as const
