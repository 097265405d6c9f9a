import { resolve } from 'node:path'
import { Option } from 'commander'
import type { MovedStore, Problem, ReloadReport } from '../../../../contracts/index.ts'
import { command, controlCommand, printAnswer, resourceCommands } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { count, fields, renderTable } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine, shellWord } from '../../output/terminal.ts'

export const registerInit = command<{ dir?: string }>({
  name: 'init',
  description:
    'Make a project: a configuration, a first agent, a first tool, and what an editor needs. Files that are there stay as they are.',
  arguments: [['[DIR]', 'its folder (default: this one)', 'dir', 'dirs']],
  examples: [
    ['quartermaster init', 'in this folder'],
    ['quartermaster init my-tools', 'in a new one'],
  ],
  async run(session, { dir = '.' }) {
    const { host, out } = session
    const made = await session.attend('Making the project', () => host.init({ dir: resolve(host.cwd, dir) }))
    const files = [
      ...made.created.map(file => `${out.paint.green('created')}  ${escapeLine(file)}\n`),
      ...made.kept.map(file => `${out.paint.dim('kept')}     ${escapeLine(file)}\n`),
    ]
    const next = [...(dir === '.' ? [] : [['cd', dir]]), made.install, ['npx', 'quartermaster', 'up']]
    const lines = next.map(words => words.map(shellWord).join(' '))
    return printAnswer(session, made, { text: files.join(''), notice: `Next: ${lines.join(' && ')}\n` })
  },
})

export const registerReload = controlCommand({
  name: 'reload',
  description:
    'Read all definitions again: changed code, new tools, changed parameters. Ends with 1 when something was rejected.',
  operation: 'reload',
  examples: [['quartermaster reload', 'after you edited, added or deleted a definition']],
  label: 'Reloading',
  answer: (report, { out }) => ({
    text: reloadText(report, out),
    code: report.rejected.some(problem => problem.severity === 'error') ? EXIT.no : EXIT.done,
  }),
})

function reloadText(report: ReloadReport, printer: Printer): string {
  const { generation, added, changed, removed, rejected, durationMs } = report
  const nothing = added.length + changed.length + removed.length === 0
  const isOfAgent = ({ subject = '' }: Problem) => subject.startsWith('agent:')
  const errors = rejected.filter(problem => problem.severity === 'error')
  const ofAgents = errors.filter(isOfAgent)
  const ofDefinitions = errors.filter(problem => !isOfAgent(problem))
  const warnings = rejected.filter(problem => problem.severity !== 'error')
  const section = (problems: readonly Problem[], title: string) =>
    problems.length === 0 ? '' : `${printer.paint.bold(title)}\n${problemBlocks(problems, printer)}`
  return [
    `Generation ${generation}${nothing ? ', nothing changed' : ''} (${Math.round(durationMs)} ms)\n`,
    fields(
      [
        ['Added', added.join(', ')],
        ['Changed', changed.join(', ')],
        ['Removed', removed.join(', ')],
      ],
      printer,
    ),
    section(ofDefinitions, `${count(ofDefinitions.length, 'problem')}; the last good version stays`),
    section(ofAgents, `${count(ofAgents.length, 'problem')} in agents' files`),
    section(warnings, count(warnings.length, 'warning')),
  ].join('')
}

const registerMove = command<{ to?: string; dryRun?: boolean; showKey?: boolean }>({
  name: 'move',
  description: 'Copy everything from the file of the data folder into an empty PostgreSQL database. The file stays.',
  options: [
    new Option('--to <URL>', 'the database: postgresql://USER:PASSWORD@HOST:PORT/DATABASE (default: DATABASE_URL)'),
    new Option('--dry-run', 'only look at what would be copied, and whether it could be'),
    new Option(
      '--show-key',
      'also print the key to what is sealed: for a secret store, not for a terminal that others can see',
    ),
  ],
  examples: [
    ['quartermaster store move --to "$NEW_DATABASE_URL" --dry-run', 'see what would be copied'],
    ['quartermaster store move --to "$NEW_DATABASE_URL"', 'copy it, all or nothing'],
  ],
  async run(session, { to: given, dryRun = false, showKey = false }) {
    const { host, options } = session
    const to = given ?? host.io.env.DATABASE_URL
    if (to === undefined || to === '') throw new UsageError('Name the database with --to, or in DATABASE_URL.')
    const named = given === undefined ? 'DATABASE_URL' : '--to'
    const project = defined({ config: options.config, data: options.data })
    const moved = await session.attend(dryRun ? 'Looking' : 'Copying', ({ onProgress = () => {} }) =>
      host.moveStore({ ...project, to, named, dryRun, showKey, onProgress }),
    )
    const notice = moved.isDryRun ? '' : afterMoveText(moved)
    return printAnswer(session, moved, { text: movedText(moved, session.out), notice })
  },
})

export const registerStore = resourceCommands(['store', 'Where data is kept.', 'move [options]'], [registerMove])

function movedText({ tables, to, isDryRun }: MovedStore, out: Printer): string {
  const filled = tables.filter(({ rows }) => rows > 0)
  const total = count(
    filled.reduce((sum, { rows }) => sum + rows, 0),
    'row',
  )
  const rows = filled.map(({ table, rows, digest }) => [table, String(rows), digest.slice(0, 16)])
  const list = filled.length > 0 ? renderTable(['Table', 'Rows', { wraps: 'SHA-256' }], rows, out) : ''
  const end = isDryRun
    ? `${total} would be copied to ${to}.\n`
    : `${out.paint.green('✓')} ${total} copied to ${to}, and read there again: all are the same.\n`
  return `${list}${end}`
}

function afterMoveText({ from, sealingKeyFile, sealingKey }: MovedStore): string {
  return [
    `Next: set DATABASE_URL to that database, and start \`quartermaster up\`. "${from}" stays as it is, and is refused from now on.`,
    'What is sealed opens with the key of this data folder. Another one that uses the database needs it too:',
    `  export QUARTERMASTER_SEALING_KEY=${sealingKey ?? `"$(cat ${shellWord(sealingKeyFile)})"`}`,
    '',
  ].join('\n')
}
