import { Option } from 'commander'
import type { Control, ControlOutput, LoginFacts } from '../../../../contracts/index.ts'
import { command, controlCommand, printAnswer } from '../../command.ts'
import { agentOption, defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, unwrapped } from '../../output/layout.ts'
import { isoTime } from '../../output/units.ts'
import type { Session } from '../../session.ts'

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
