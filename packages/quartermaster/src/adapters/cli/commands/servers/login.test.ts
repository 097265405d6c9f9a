import { describe, expect, it } from 'vitest'
import type { Control } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'
import { browserCommand } from '../../process-io.ts'

const FACTS = { upstream: 'tracker', issuer: 'https://sso.example', scope: 'read', renewable: true }
const URL_THERE = 'https://sso.example/authorize?state=s'

async function run(args: string[], options: CliHostOptions = {}) {
  const inputs: unknown[] = []
  const control: Partial<Control> = {
    beginLogin: async input => (inputs.push(input), { attempt: 'login_1', url: URL_THERE }),
    // The person is not back by themselves before they have typed where they ended.
    finishLogin: async input => {
      inputs.push(input)
      return args.includes('--paste') && input.redirectUrl === undefined ? new Promise(() => {}) : FACTS
    },
    logout: async input => (inputs.push(input), { wasSignedIn: true }),
    ...options.control,
  }
  const shown: string[] = []
  const openBrowser = async (url: string) => (shown.push(url), true)
  const { host, seen } = createFakeCliHost({ ...options, control, host: { openBrowser, ...options.host } })
  const code = await runCli(args, host)
  return { code, inputs, shown, ...seen }
}

describe('quartermaster login', () => {
  it('prints the address, opens the browser at a terminal and waits for the person', async () => {
    const { code, inputs, shown, stdout, stderr } = await run(['login', 'tracker'], { terminal: { stderr: true } })
    expect({ code, shown, inputs }).toEqual({
      code: 0,
      shown: [URL_THERE],
      inputs: [{ upstream: 'tracker' }, { attempt: 'login_1' }],
    })
    expect(stderr).toContain(URL_THERE)
    expect(stdout).toContain('Signed in at tracker.')
    expect(stdout).toContain('https://sso.example')
  })

  it('opens no browser where there is no terminal, or when told not to', async () => {
    expect((await run(['login', 'tracker'])).shown).toEqual([])
    expect((await run(['login', 'tracker', '--no-browser'], { terminal: { stderr: true } })).shown).toEqual([])
  })

  it('takes the address that the browser ended at, from the person or from a pipe', async () => {
    const pasted = 'http://127.0.0.1:1/callback?code=c'
    const typed = await run(['login', 'tracker', '--paste'], {
      terminal: { stdin: true, stderr: true },
      answers: [pasted],
    })
    const piped = await run(['login', 'tracker', '--paste', '--agent', 'researcher'], { stdin: `${pasted}\nmore\n` })
    expect(typed).toMatchObject({ code: 0, shown: [], questions: [expect.stringContaining('Paste the address')] })
    expect(typed.inputs.at(-1)).toEqual({ attempt: 'login_1', redirectUrl: pasted })
    expect(piped.inputs).toEqual([
      { upstream: 'tracker', agent: 'researcher' },
      { attempt: 'login_1' },
      { attempt: 'login_1', redirectUrl: pasted },
    ])
  })

  it('ends its question when the browser returned automatically, and cancels the attempt with it', async () => {
    const asked: { readonly told: AbortSignal | undefined; readonly typed: string | undefined }[] = []
    const beginLogin = async () => ({ attempt: 'login_1', url: URL_THERE })
    const finishLogin: Control['finishLogin'] = async ({ redirectUrl }, options) => {
      asked.push({ told: options?.signal, typed: redirectUrl })
      return FACTS
    }
    const { host, seen } = createFakeCliHost({
      terminal: { stdin: true, stderr: true },
      control: { beginLogin, finishLogin },
    })
    let prompted: AbortSignal | undefined
    host.io.stdin.question = (_, { signal }) => {
      prompted = signal
      return new Promise(() => {})
    }
    expect(await runCli(['login', 'tracker', '--paste'], host)).toBe(0)
    expect(seen.stdout).toContain('Signed in at tracker.')
    expect(prompted?.aborted).toBe(true)

    const silent = createFakeCliHost({
      terminal: { stdin: true },
      control: {
        beginLogin,
        finishLogin: (given, options) => (void finishLogin(given, options), silent.interrupt(), new Promise(() => {})),
      },
    })
    silent.host.io.stdin.question = () => new Promise(() => {})
    expect(await runCli(['login', 'tracker', '--paste'], silent.host)).toBe(130)
    expect(asked).toMatchObject([{ typed: undefined }, { typed: undefined, told: { aborted: true } }])
  })

  it('prints one JSON value for programs, and the address beside it', async () => {
    const { stdout, stderr } = await run(['login', 'tracker', '--json'])
    expect(JSON.parse(stdout)).toEqual(FACTS)
    expect(stderr).toContain(URL_THERE)
  })

  it('gives the attempt up when the person stops waiting', async () => {
    let told: AbortSignal | undefined
    const finishLogin: Control['finishLogin'] = (_, options) => (
      (told = options?.signal), interrupt(), new Promise(() => {})
    )
    const beginLogin = async () => ({ attempt: 'login_1', url: URL_THERE })
    const { host, interrupt, seen } = createFakeCliHost({ control: { beginLogin, finishLogin } })
    expect(await runCli(['login', 'tracker'], host)).toBe(130)
    expect(told?.aborted).toBe(true)
    expect(seen.closed).toBe(1)
  })

  it('shows nothing of an address that a terminal would obey', async () => {
    const beginLogin = async () => ({ attempt: 'a', url: 'https://x.example/\u001b[2Jgone' })
    const { stderr } = await run(['login', 'tracker'], { control: { beginLogin } })
    expect(stderr).not.toContain('\u001b[2J')
  })
})

describe('quartermaster logout', () => {
  it('says what it forgot', async () => {
    const { code, inputs, stdout } = await run(['logout', 'tracker'])
    expect({ code, inputs, stdout }).toEqual({
      code: 0,
      inputs: [{ upstream: 'tracker' }],
      stdout: 'The login at tracker is forgotten.\n',
    })
    const notSignedIn = await run(['logout', 'tracker'], { control: { logout: async () => ({ wasSignedIn: false }) } })
    expect(notSignedIn.stdout).toBe('There was no login at tracker.\n')
  })
})

describe('the browser', () => {
  it.each([
    ['linux', { DISPLAY: ':0' }, ['xdg-open', URL_THERE]],
    ['linux', { WAYLAND_DISPLAY: 'w' }, ['xdg-open', URL_THERE]],
    ['linux', {}, undefined],
    ['darwin', {}, ['open', URL_THERE]],
    ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler', URL_THERE]],
  ] as const)('on %s with %j is opened by %j', (platform, env, command) => {
    expect(browserCommand(URL_THERE, { platform, env })).toEqual(command)
  })

  it.each(['file:///etc/passwd', '--help', 'javascript:1'])('never gets %s', url => {
    expect(browserCommand(url, { platform: 'darwin', env: {} })).toBeUndefined()
  })
})
