import { Option } from 'commander'
import {
  AppError,
  type Control,
  type ControlOutput,
  type LoginFacts,
  type RemovedUpstream,
  UpstreamConsent,
  type UpstreamStatus,
} from '../../../../contracts/index.ts'
import { suggestOrList } from '../../../../core/kernel/index.ts'
import { command, controlCommand, printAnswer } from '../../command.ts'
import { EXIT, EXIT_CODES } from '../../errors.ts'
import { agentOption, defined } from '../../options.ts'
import { count, fields, unwrapped } from '../../output/layout.ts'
import { problemBlocks } from '../../output/problem-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine, toVisibleJsonText } from '../../output/terminal.ts'
import { isoTime } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { asksText, CONSENT_HELP, releasedLines } from './add-plan.ts'
import { decisionCommands, registerReview } from './review.ts'
import { firstStates, upstreamDetail, upstreamSentence, upstreamTable } from './upstream-status.ts'

/** An operation for one upstream does not exist, so that all are read. */
const registerShow = command<{ name: string }>({
  name: 'show',
  description: 'Show everything about one upstream.',
  arguments: [['<NAME>', 'the upstream', 'name', 'upstream']],
  examples: [['quartermaster upstreams show github', 'its address, its state and what it brings']],
  async run(session, { name }) {
    session.hints = { upstream: name }
    const statuses = await session.connect(control =>
      session.attend('Looking', options => control.upstreams({}, options)),
    )
    const found = statuses.find(status => status.name === name)
    const names = statuses.map(status => status.name)
    if (!found) throw new AppError('NAME_UNKNOWN', `No upstream is named "${name}".${suggestOrList(name, names)}`)
    return printAnswer(session, found, { text: upstreamDetail(found, session) })
  },
})

const registerConsent = command<{ name: string; consent: UpstreamConsent }>({
  name: 'consent',
  description: 'Set which tools of an upstream ask a person before they run.',
  arguments: [
    ['<NAME>', 'the upstream', 'name', 'upstream'],
    ['<CHOICE>', CONSENT_HELP, 'consent', UpstreamConsent.options],
  ],
  examples: [['quartermaster upstreams consent github changing', 'all but what it says only reads']],
  async run(session, { name, consent }) {
    session.hints = { upstream: name }
    const [status] = await session.connect(control =>
      session.attend('Writing', options => control.setUpstreamConsent({ names: [name], consent }, options)),
    )
    const text = `"consent": "${consent}" stands in the entry of "${name}" now. ${asksText(status)}\n`
    return printAnswer(session, status, { text })
  },
})

const registerRestart = controlCommand({
  name: 'restart',
  description: 'End the connections of an upstream and start it again. Ends with 1 when it is not up then.',
  operation: 'restartUpstream',
  arguments: [['<NAME>', 'the upstream', 'name', 'upstream']],
  examples: [['quartermaster upstreams restart github', 'after you fixed it']],
  label: ({ name }) => `Restarting ${name}`,
  hints: ({ name }) => ({ upstream: name }),
  async answer(begun, session, { name }, control) {
    const { out, from, host } = session
    const isDownloading = from === 'process' && begun.state === 'starting' && begun.isFetching === true
    const states = await firstStates(session, control, isDownloading ? [name] : [], 0)
    const status = states.get(name) ?? begun
    const isUp = status.state === 'up' || status.state === 'idle'
    const mark = isUp ? out.paint.green('✓') : out.paint.red('✗')
    const code = isUp ? EXIT.done : EXIT.no
    return {
      json: status,
      text: `${mark} ${escapeLine(restartedText(status, session))}\n`,
      code: host.signal.aborted ? EXIT_CODES.cancelled : code,
    }
  },
})

/** A server that this process has started ends with it. */
function restartedText(status: UpstreamStatus, session: Session): string {
  if (status.state === 'off') return `"${status.name}" was not started: ${status.reason}`
  const state = upstreamSentence(status, session)
  if (session.from === 'up') return `"${status.name}" was restarted; ${state}.`
  const was = state.replace(/^it is /, 'it was ')
  return `"${status.name}" was only tried, because no \`quartermaster up\` runs here to keep it; ${was}.`
}

export const registerUpstreams = controlCommand({
  name: 'upstreams',
  description: 'List the MCP servers of others: state, tools, restarts, latency, last error.',
  usage: '[show | review | accept | reject | consent | restart] [options]',
  operation: 'upstreams',
  examples: [
    ['quartermaster upstreams', 'all of them'],
    ['quartermaster upstreams --json | jq \'.[] | select(.state == "down")\'', 'what does not work, for a program'],
  ],
  answer(statuses, session) {
    const none = 'No upstreams yet. Add one: quartermaster add NAME -- COMMAND, or: quartermaster import\n'
    if (statuses.length === 0) return { notice: none }
    // Explains idle servers that were not configured as lazy. A server that was never connected has a note of its own.
    const isAnyIdle = statuses.some(({ state, unseen }) => state === 'idle' && unseen === undefined)
    const isExplained = session.from === 'process' && isAnyIdle
    return { text: upstreamTable(statuses, session), notice: isExplained ? IDLE : '' }
  },
  subcommands: [registerShow, registerReview, ...decisionCommands, registerConsent, registerRestart],
})

const IDLE = 'No `quartermaster up` runs here to keep servers running: what is idle starts when it is needed.\n'

export const registerRemove = controlCommand({
  name: 'remove',
  description: 'Remove an upstream from the configuration, and from the agents that have it.',
  operation: 'removeUpstream',
  arguments: [['<NAME>', 'the upstream', 'name', 'upstream']],
  options: [new Option('--keep-secrets', 'leave its secrets in the secrets file, also those that nothing else names')],
  examples: [
    ['quartermaster remove github', 'it is stopped and forgotten, and so are secrets that only it had'],
    ['quartermaster remove github --keep-secrets', 'to add it again later'],
  ],
  label: ({ name }) => `Removing ${name}`,
  hints: ({ name }) => ({ upstream: name }),
  answer: (removed, { out }, { name }) => ({
    text: removedText(name, removed, out),
    code: removed.stillNamedBy.length > 0 ? EXIT.no : EXIT.done,
  }),
})

function removedText(name: string, removed: RemovedUpstream, out: Printer): string {
  const { forgotten, file } = removed
  const what = forgotten ? `There was no entry of "${name}".` : `"${name}" is removed.`
  const lines = [...forgottenLines(forgotten), ...takenLines(name, removed), ...releasedLines(removed)]
  return [
    `${out.paint.green('✓')} ${escapeLine(`${what} (${file})`)}\n`,
    ...lines.map(line => unwrapped(line, '  ')),
    problemBlocks(removed.problems, out),
  ].join('')
}

function forgottenLines(forgotten: RemovedUpstream['forgotten']): string[] {
  if (!forgotten) return []
  const { pins, logins } = forgotten
  const parts = [pins > 0 ? count(pins, 'pin') : '', logins > 0 ? count(logins, 'login') : '']
  const named = parts.filter(part => part !== '').join(' and ')
  return [`Forgotten: ${named === '' ? 'that it was ever seen' : named}.`]
}

/** A list of tools that a person wrote for an agent has no other copy, so it is printed as it was. */
function takenLines(name: string, { taken }: RemovedUpstream): string[] {
  const all = Object.entries(taken)
  const whole = all.flatMap(([agent, had]) => (Object.keys(had).length === 0 ? [agent] : []))
  const narrowed = all.filter(([agent]) => !whole.includes(agent))
  return [
    ...(whole.length > 0 ? [`Taken from: ${whole.join(', ')}.`] : []),
    ...narrowed.map(
      ([agent, had]) => `Taken from ${agent}, whose file had "${name}": ${toVisibleJsonText(had, { pretty: false })}`,
    ),
  ]
}

export const registerLogin = command<{ upstream: string; agent?: string; browser: boolean; paste?: boolean }>({
  name: 'login',
  description: 'Sign in at an upstream, in a browser.',
  arguments: [['<NAME>', 'the upstream', 'upstream']],
  options: [
    agentOption('for this agent alone'),
    new Option('--no-browser', 'only print the address'),
    new Option('--paste', 'the browser is on another machine: paste the address it ends at'),
  ],
  examples: [
    ['quartermaster login tracker', 'sign in at the upstream "tracker"'],
    ['quartermaster login tracker --paste', 'over SSH'],
  ],
  async run(session, { upstream, agent, browser, paste }) {
    session.hints = { name: upstream }
    const facts = await session.connect(async control => {
      const begun = await session.attend('Asking where to sign in', options =>
        control.beginLogin(defined({ upstream, agent }), options),
      )
      await session.notices.write(`Sign in here:\n\n  ${escapeLine(begun.url)}\n\n`)
      return paste ? finishPasted(session, control, begun) : finishInBrowser(session, control, begun, browser)
    })
    return printAnswer(session, facts, { text: loginText(facts, session) })
  },
})

export const registerLogout = controlCommand({
  name: 'logout',
  description: 'Forget a login at an upstream.',
  operation: 'logout',
  arguments: [['<NAME>', 'the upstream', 'upstream']],
  options: [agentOption('the one of this agent alone')],
  examples: [['quartermaster logout tracker', 'forget the login, without a question']],
  hints: ({ upstream }) => ({ name: upstream }),
  answer({ wasSignedIn }, _, { upstream }) {
    const text = wasSignedIn ? `The login at ${upstream} is forgotten.` : `There was no login at ${upstream}.`
    return { text: `${escapeLine(text)}\n` }
  },
})

type Begun = ControlOutput<'beginLogin'>

async function finishInBrowser(session: Session, control: Control, { url, attempt }: Begun, mayOpen: boolean) {
  // Where the notices go into a pipe, no person waits for a browser window.
  const isOpened = mayOpen && session.notices.isTerminal && (await session.host.openBrowser(url))
  if (isOpened) await session.notices.write('Your browser shows it now.\n')
  return session.attend('Waiting for you to sign in', options => control.finishLogin({ attempt }, options))
}

const PROMPT = 'Paste the address that your browser ends at (it need not show anything): '

async function finishPasted(session: Session, control: Control, { attempt }: Begun): Promise<LoginFacts> {
  const { stdin } = session.host.io
  const over = new AbortController()
  const signal = AbortSignal.any([session.host.signal, over.signal])
  // The browser may reach us after all, as through a tunnel. Aborting this wait ends the attempt.
  const redirected = control.finishLogin({ attempt }, { signal })
  let isTyped = false
  const pasted = stdin.isTTY ? stdin.question(PROMPT, { signal }) : stdin.line()
  const typed = pasted.then(text => {
    isTyped = true
    return control.finishLogin({ attempt, redirectUrl: text.trim() }, { signal })
  })
  try {
    return await session.untilAborted(Promise.race([redirected, typed]))
  } finally {
    // Ends the line of the unanswered question.
    if (stdin.isTTY && !isTyped) await session.notices.write('\n')
    over.abort()
  }
}

function loginText({ upstream, agent, issuer, scope, renewable, expiresAt }: LoginFacts, { out }: Session): string {
  const expiry = expiresAt === undefined ? 'until the server says otherwise' : `until ${isoTime(expiresAt)}`
  const about = fields(
    [
      ['By', issuer],
      ['Rights', scope ?? 'what the server gives'],
      ['Valid', renewable ? 'until you log out; it is renewed automatically' : expiry],
    ],
    out,
  )
  const who = agent === undefined ? '' : ` for ${agent}`
  return `${out.paint.green('✓')} ${unwrapped(`Signed in at ${upstream}${who}.`)}${about}`
}
