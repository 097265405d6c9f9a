import type { Control, ControlOutput, LoginFacts } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, paragraph } from '../../output/layout.ts'
import type { Session } from '../../session.ts'

interface LoginFlags {
  agent?: string
  browser: boolean
  paste?: boolean
}

export const registerLogin: Register = (program, act) => {
  const command = program
    .command('login')
    .description('Sign in at an upstream, in a browser.')
    .argument('<NAME>', 'the upstream')
    .addOption(new CompletingOption('--agent <NAME>', 'for this agent alone', 'agent'))
    .option('--no-browser', 'only print the address')
    .option('--paste', 'the browser is on another machine: paste the address it ends at')
    .action((name: string, flags: LoginFlags) => act(session => login(session, name, flags)))
  addExamples(command, [
    ['quartermaster login tracker', 'sign in at the upstream "tracker"'],
    ['quartermaster login tracker --paste', 'over SSH'],
  ])
}

export const registerLogout: Register = (program, act) => {
  const command = program
    .command('logout')
    .description('Forget a login at an upstream.')
    .argument('<NAME>', 'the upstream')
    .addOption(new CompletingOption('--agent <NAME>', 'the one of this agent alone', 'agent'))
    .action((name: string, flags: { agent?: string }) => act(session => logout(session, name, flags)))
  addExamples(command, [['quartermaster logout tracker', 'forget the login, without a question']])
}

async function login(session: Session, upstream: string, flags: LoginFlags): Promise<number> {
  session.hints = { name: upstream }
  const facts = await session.connect(async control => {
    const begun = await session.attend('Asking where to sign in', options =>
      control.beginLogin(defined({ upstream, agent: flags.agent }), options),
    )
    await session.notices.write(`Sign in here:\n\n  ${escapeLine(begun.url)}\n\n`)
    if (!flags.paste) return waitForBrowser(session, control, { begun, isShown: flags.browser })
    return takePasted(session, control, begun)
  })
  if (session.json) await session.printJson(facts)
  else await session.out.write(loginText(facts, session))
  return EXIT.done
}

type Begun = ControlOutput<'beginLogin'>

async function waitForBrowser(
  session: Session,
  control: Control,
  { begun, isShown }: { begun: Begun; isShown: boolean },
) {
  // When this is read in a pipe, a browser window is of no use.
  const isOpened = isShown && session.notices.isTerminal && (await session.host.openBrowser(begun.url))
  if (isOpened) await session.notices.write('Your browser shows it now.\n')
  return session.attend('Waiting for you to sign in', options =>
    control.finishLogin({ attempt: begun.attempt }, options),
  )
}

const PROMPT = 'Paste the address that your browser ends at (it need not show anything): '

async function takePasted(session: Session, control: Control, { attempt }: Begun): Promise<LoginFacts> {
  const { stdin } = session.host.io
  const over = new AbortController()
  const signal = AbortSignal.any([session.host.signal, over.signal])
  // It may come back by itself after all, as through a tunnel; and who waits for it is who gives it up.
  const brought = control.finishLogin({ attempt }, { signal })
  let isTyped = false
  const pasted = stdin.isTTY ? stdin.question(PROMPT, { signal }) : stdin.line()
  const typed = pasted.then(text => {
    isTyped = true
    return control.finishLogin({ attempt, redirectUrl: text.trim() }, { signal })
  })
  try {
    return await session.untilAborted(Promise.race([brought, typed]))
  } finally {
    // The question still stands there.
    if (stdin.isTTY && !isTyped) await session.notices.write('\n')
    over.abort()
  }
}

function loginText(facts: LoginFacts, { out }: Session): string {
  const whose = facts.agent === undefined ? '' : ` for ${facts.agent}`
  const until = facts.renewable ? 'until you log out; it is renewed automatically' : untilText(facts.expiresAt)
  return [
    `${out.paint.green('✓')} ${paragraph(`Signed in at ${facts.upstream}${whose}.`, { ...out, width: undefined })}`,
    fields(
      [
        ['By', facts.issuer],
        ['Rights', facts.scope ?? 'what the server gives'],
        ['Good', until],
      ],
      out,
    ),
  ].join('')
}

function untilText(expiresAt: number | undefined): string {
  return expiresAt === undefined ? 'until the server says otherwise' : `until ${new Date(expiresAt).toISOString()}`
}

async function logout(session: Session, upstream: string, { agent }: { agent?: string }): Promise<number> {
  session.hints = { name: upstream }
  const answer = await session.connect(control => control.logout(defined({ upstream, agent })))
  if (session.json) await session.printJson(answer)
  else {
    const text = answer.wasSignedIn ? `The login at ${upstream} is forgotten.` : `There was no login at ${upstream}.`
    await session.out.write(`${escapeLine(text)}\n`)
  }
  return EXIT.done
}
