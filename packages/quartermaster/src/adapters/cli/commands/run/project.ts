import { resolve } from 'node:path'
import type { MovedStore, Problem, ReloadReport } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine, shellWord } from '../../output/escape.ts'
import { count, fields, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { problemBlock } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'

export const registerInit: Register = (program, act) => {
  const command = program
    .command('init')
    .description(
      'Make a project: a configuration, a first agent, a first tool, and what an editor needs. Files that are there stay as they are.',
    )
    .addArgument(new CompletingArgument('[DIR]', 'its folder (default: this one)', 'dirs'))
    .action((dir: string | undefined) => act(session => init(session, dir)))
  addExamples(command, [
    ['quartermaster init', 'in this folder'],
    ['quartermaster init my-tools', 'in a new one'],
  ])
}

async function init(session: Session, dir = '.'): Promise<number> {
  const { host } = session
  const made = await session.attend('Making the project', () => host.init({ dir: resolve(host.cwd, dir) }))
  await (session.json ? session.printJson(made) : session.out.write(initText(made, session)))
  const next = [...(dir === '.' ? [] : [['cd', dir]]), made.install, ['npx', 'quartermaster', 'up']]
  if (!session.json)
    await session.notices.write(`Next: ${next.map(words => words.map(shellWord).join(' ')).join(' && ')}\n`)
  return EXIT.done
}

function initText(
  { created, kept }: { created: readonly string[]; kept: readonly string[] },
  { out }: Session,
): string {
  return [
    ...created.map(file => `${out.paint.green('created')}  ${escapeLine(file)}\n`),
    ...kept.map(file => `${out.paint.dim('kept')}     ${escapeLine(file)}\n`),
  ].join('')
}

export const registerReload: Register = (program, act) => {
  const command = program
    .command('reload')
    .description(
      'Read all definitions again: changed code, new tools, changed parameters. Ends with 1 when something was rejected.',
    )
    .action(() => act(reload))
  addExamples(command, [['quartermaster reload', 'after you edited, added or deleted a definition']])
}

async function reload(session: Session): Promise<number> {
  const report = await session.connect(control => session.attend('Reloading', options => control.reload({}, options)))
  await (session.json ? session.printJson(report) : session.out.write(reloadText(report, session.out)))
  return report.rejected.some(problem => problem.severity === 'error') ? EXIT.no : EXIT.done
}

function reloadText(report: ReloadReport, printer: Printer): string {
  const { generation, added, changed, removed, rejected, durationMs } = report
  const nothing = added.length + changed.length + removed.length === 0
  const head = `Generation ${generation}${nothing ? ', nothing changed' : ''} (${Math.round(durationMs)} ms)\n`
  const lists = fields(
    [
      ['Added', added.join(', ')],
      ['Changed', changed.join(', ')],
      ['Removed', removed.join(', ')],
    ],
    printer,
  )
  const isOfAgent = ({ subject = '' }: Problem) => subject.startsWith('agent:')
  const errors = rejected.filter(problem => problem.severity === 'error')
  const ofAgents = errors.filter(isOfAgent)
  const ofDefinitions = errors.filter(problem => !isOfAgent(problem))
  const warnings = rejected.filter(problem => problem.severity !== 'error')
  return (
    head +
    lists +
    section(ofDefinitions, `${count(ofDefinitions.length, 'problem')}; the last good version stays`, printer) +
    section(ofAgents, `${count(ofAgents.length, 'problem')} in agents' files`, printer) +
    section(warnings, count(warnings.length, 'warning'), printer)
  )
}

function section(problems: readonly Problem[], title: string, printer: Printer): string {
  if (problems.length === 0) return ''
  return `${printer.paint.bold(title)}\n${problems.map(problem => problemBlock(problem, printer)).join('')}`
}

interface MoveOptions {
  to?: string
  dryRun?: boolean
  showKey?: boolean
}

export const registerStore: Register = (program, act) => {
  const store = program.command('store').description('What is kept, and where.')
  const move = store
    .command('move')
    .description('Copy everything from the file of the data folder into an empty PostgreSQL database. The file stays.')
    .option('--to <URL>', 'the database: postgresql://USER:PASSWORD@HOST:PORT/DATABASE (default: DATABASE_URL)')
    .option('--dry-run', 'only look at what would be copied, and whether it could be')
    .option(
      '--show-key',
      'also print the key to what is sealed: for a secret store, not for a terminal that is watched',
    )
    .action((options: MoveOptions) => act(session => moveStore(session, options)))
  addExamples(move, [
    ['quartermaster store move --to "$NEW_DATABASE_URL" --dry-run', 'see what would be copied'],
    ['quartermaster store move --to "$NEW_DATABASE_URL"', 'copy it, all or nothing'],
  ])
}

async function moveStore(session: Session, { to, dryRun = false, showKey = false }: MoveOptions): Promise<number> {
  const { host, options } = session
  const url = to ?? host.io.env.DATABASE_URL
  if (url === undefined || url === '') throw new UsageError('Name the database with --to, or in DATABASE_URL.')
  const place = defined({ config: options.config, data: options.data })
  const moved = await session.attend(dryRun ? 'Looking' : 'Copying', ({ onProgress }) =>
    host.moveStore({
      ...place,
      to: url,
      named: to === undefined ? 'DATABASE_URL' : '--to',
      dryRun,
      showKey,
      onProgress: progress => onProgress?.(progress),
    }),
  )
  await (session.json ? session.printJson(moved) : session.out.write(movedText(moved, session)))
  if (!session.json && !moved.isDryRun) await session.notices.write(nextText(moved))
  return EXIT.done
}

function movedText({ tables, to, isDryRun }: MovedStore, { out }: Session): string {
  const filled = tables.filter(({ rows }) => rows > 0)
  const total = filled.reduce((sum, { rows }) => sum + rows, 0)
  const list = renderTable(
    {
      columns: [{ title: 'Table' }, { title: 'Rows' }, { title: 'SHA-256', flexible: true }],
      rows: filled.map(({ table, rows, digest }) => ({ cells: [table, String(rows), digest.slice(0, 16)] })),
    },
    out,
  )
  const end = isDryRun
    ? `${count(total, 'row')} would be copied to ${to}.\n`
    : `${out.paint.green('✓')} ${count(total, 'row')} copied to ${to}, and read there again: all are the same.\n`
  return `${filled.length > 0 ? list : ''}${end}`
}

function nextText({ from, sealingKeyFile, sealingKey }: MovedStore): string {
  return [
    `Next: set DATABASE_URL to that database, and start \`quartermaster up\`. "${from}" stays as it is, and is refused from now on.`,
    'What is sealed opens with the key of this data folder. Another one that uses the database needs it too:',
    `  export QUARTERMASTER_SEALING_KEY=${sealingKey ?? `"$(cat ${shellWord(sealingKeyFile)})"`}`,
    '',
  ].join('\n')
}
