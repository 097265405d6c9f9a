import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { problemBlock } from '../explain.ts'
import type { UpStarted } from '../host.ts'
import { count, fields } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import { type Session, within } from '../session.ts'
import { createUpLog } from '../up-log.ts'

interface Listen {
  host: string
  port: number
  background?: true
}

export const registerUp: Register = (program, act) => {
  const command = program
    .command('up')
    .description('Run everything in this process, until Ctrl-C.')
    .addOption(new Option('--host <HOST>', 'the address to listen on').default('127.0.0.1').argParser(toHost))
    .addOption(new Option('--port <PORT>', 'the port to listen on; 0 picks a free one').default(7420).argParser(toPort))
    .addOption(new Option('--background', 'leave when nobody is connected').hideHelp())
    .action((options: Listen) => act(session => up(session, options)))
  addExamples(command, [
    ['quartermaster up', 'on http://127.0.0.1:7420'],
    ['quartermaster up --port 0 --json', 'on any free port; the first line of output is one object with its url'],
  ])
}

function toPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return port
}

function toHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  const isName =
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(host) &&
    !/^[\d.]+$/.test(host)
  if (isIP(host) === 0 && !isName)
    throw new InvalidArgumentError(
      'It must be an address such as 127.0.0.1 or ::1, or a host name; the port goes to --port.',
    )
  return host
}

/** A server that was told to stop has this long before the terminal is given back. */
const STOP_WITHIN_MS = 10_000

async function up(session: Session, { host, port, background }: Listen): Promise<number> {
  if (!isLoopback(host)) await session.notices.write(exposureWarning(session, host))
  const stop = new AbortController()
  const log = createUpLog(session)
  const { config, data } = session.options
  const signal = AbortSignal.any([session.host.signal, stop.signal])
  const starting = session.host.up({
    host,
    port,
    json: session.json,
    onEvent: log.add,
    signal,
    ...defined({ config, data, background }),
  })
  try {
    const started = await session.attend('Starting', () => starting)
    await announce(session, started)
    log.open(started.status.problems)
    await started.closed
    return EXIT.done
  } finally {
    stop.abort()
    await within(
      session.host,
      STOP_WITHIN_MS,
      starting.then(started => started.closed),
    )
  }
}

async function announce(session: Session, started: UpStarted): Promise<void> {
  const { url, facts } = started
  // Whoever started us reads one line, so this is a line even on a terminal.
  if (session.json)
    return await session.out.write(`${JSON.stringify({ url, version: session.host.version, ...facts })}\n`)
  await session.out.write(announcement(session, started))
}

function announcement({ out, host }: Session, { url, notes = [], status }: UpStarted): string {
  const { tools, agents, problems } = status
  const facts = fields(
    [
      ['Listening', url],
      [
        'Tools',
        `${tools.active} active, ${tools.disabled} disabled${tools.disabled > 0 ? ' (why: quartermaster tools --state disabled)' : ''}`,
      ],
      ['Agents', agents === 0 ? 'none yet (make one: quartermaster grant NAME files --create)' : String(agents)],
    ],
    out,
  )
  return [
    `${out.paint.bold(`Quartermaster ${host.version}`)}\n`,
    facts,
    ...notes.map(note => `${escapeLine(note)}\n`),
    problems.length === 0 ? '' : `${out.paint.bold(count(problems.length, 'problem'))}\n`,
    ...problems.map(problem => problemBlock(problem, out)),
    out.paint.dim('Ctrl-C stops it.\n'),
  ].join('')
}

function isLoopback(host: string): boolean {
  const name = host.toLowerCase()
  return name === 'localhost' || name.startsWith('127.') || name.startsWith('::ffff:127.') || /^(0*:)+0*1$/.test(name)
}

function exposureWarning({ notices }: Session, host: string): string {
  return `${notices.paint.yellow('Warning:')} ${escapeLine(host)} can be reached from other machines. Whoever gets hold of a credential can use every tool from there; listen on 127.0.0.1 unless you mean that.\n`
}
