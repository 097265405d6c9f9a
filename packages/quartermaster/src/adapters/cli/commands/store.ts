import type { MovedStore } from '../../../contracts/index.ts'
import { defined } from '../defined.ts'
import { EXIT, UsageError } from '../errors.ts'
import { count } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { shellWord } from '../shell-word.ts'
import { renderTable } from '../table.ts'

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
