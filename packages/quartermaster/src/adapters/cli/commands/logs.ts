import { InvalidArgumentError, Option } from 'commander'
import type { AuditLine } from '../../../contracts/index.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { parseDuration } from '../duration.ts'
import { EXIT } from '../errors.ts'
import { cursorOption, limitOption, nextPage } from '../paging.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { renderTable } from '../table.ts'

interface LogsOptions {
  agent?: string
  tool?: string
  since?: Since
  limit?: number
  cursor?: string
}

/** A time, or how long ago. */
type Since = { readonly at: number } | { readonly msAgo: number }

export const registerLogs: Register = (program, act) => {
  const logs = program
    .command('logs')
    .description('Show the audit: who called what, and how it ended, newest first.')
    .addOption(new CompletingOption('--agent <NAME>', 'only what this agent did', 'agent'))
    .addOption(new CompletingOption('--tool <NAME>', 'only calls of this tool', 'tool'))
    .addOption(new Option('--since <TIME>', 'from then on: 2h for two hours ago, or a date').argParser(toSince))
    .addOption(limitOption())
    .addOption(cursorOption())
    .action((options: LogsOptions) => act(session => showLogs(session, options)))
  addExamples(logs, [
    ['quartermaster logs', 'the last fifty calls'],
    ['quartermaster logs --agent default --since 2h', 'what one agent did in the last two hours'],
    ['quartermaster logs --json | jq \'.lines[] | select(.decision == "refused")\'', 'what was refused, for a program'],
  ])
}

function toSince(text: string): Since {
  const parsed = parseDuration(text)
  if ('ms' in parsed) return { msAgo: parsed.ms }
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw new InvalidArgumentError('Write how long ago, such as 30m or 2h, or a date: 2026-07-28.')
  return { at: Math.max(0, at) }
}

async function showLogs(session: Session, { since, ...rest }: LogsOptions): Promise<number> {
  const filter = defined({ ...rest, since: since && startOf(since, session.host.clock.now()) })
  const page = await session.connect(control => session.attend('Looking', options => control.audit(filter, options)))
  if (session.json) await session.printJson(page)
  else if (page.lines.length === 0) await session.notices.write('Nothing was called.\n')
  else {
    await session.out.write(linesText(page.lines, session))
    await session.notices.write(nextPage(page.nextCursor))
  }
  return EXIT.done
}

function startOf(since: Since, now: number): number {
  return 'at' in since ? since.at : Math.max(0, Math.round(now - since.msAgo))
}

function linesText(lines: readonly AuditLine[], { out }: Session): string {
  const columns = [
    { title: 'Time' },
    { title: 'Agent' },
    { title: 'Tool' },
    { title: 'Outcome' },
    { title: 'Took' },
    { title: 'Operation' },
    { title: 'Error', flexible: true },
  ]
  const rows = lines.map(line => ({
    cells: [
      new Date(line.at).toISOString(),
      line.callerName,
      line.tool,
      { text: OUTCOMES[line.outcome].text, style: out.paint[OUTCOMES[line.outcome].style] },
      `${Math.round(line.durationMs)} ms`,
      line.operationId,
      line.code ?? '',
    ],
  }))
  return renderTable({ columns, rows }, out)
}

const OUTCOMES = {
  succeeded: { text: 'succeeded', style: 'green' },
  failed: { text: 'failed', style: 'red' },
  unknown: { text: 'unknown', style: 'yellow' },
  notRun: { text: 'not run', style: 'dim' },
} as const satisfies Record<AuditLine['outcome'], object>
