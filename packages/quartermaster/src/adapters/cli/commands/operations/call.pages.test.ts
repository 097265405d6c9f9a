import { describe, expect, it } from 'vitest'
import type { Answer, Control, UrlQuestion } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const QUESTION: UrlQuestion = { kind: 'url', message: 'Sign in\u202e first.', url: 'https://example.com/in?a=1' }
const TERMINAL = { stdin: true, stdout: true, stderr: true }

async function run(options: CliHostOptions, argv: string[] = []) {
  const answers: (Answer | undefined)[] = []
  const call: Control['call'] = async (_input, { openPage } = {}) => {
    answers.push(await openPage?.(QUESTION))
    return { operationId: 'op1', result: { content: [{ type: 'text', text: 'done' }] } }
  }
  const { host, seen } = createFakeCliHost({ ...options, control: { call }, env: { NO_COLOR: '1' } })
  return { code: await runCli(['call', 'login', ...argv], host), given: answers, ...seen }
}

describe('call: a page to be opened', () => {
  it.each([
    { answers: ['y'], action: 'accept' },
    { answers: [''], action: 'decline' },
  ])('is shown, and the person says whether they were there: $answers', async ({ answers, action }) => {
    const { given, stderr, questions, stdout } = await run({ terminal: TERMINAL, answers })
    expect(given).toEqual([{ action }])
    expect(questions).toEqual(['Have you opened it and done what it asks? [y/N] '])
    expect(stderr).toContain(
      'login asks you to open a page:\n  Sign in\\u{202e} first.\n  https://example.com/in?a=1\n',
    )
    expect(stdout).toBe('done\n')
  })

  it('is not waited for any more when the call has taken it back', async () => {
    const given: (Answer | undefined)[] = []
    const call: Control['call'] = async (_input, { openPage } = {}) => {
      given.push(await openPage?.(QUESTION, AbortSignal.abort()))
      return { operationId: 'op1', result: { content: [{ type: 'text', text: 'done' }] } }
    }
    const { host, seen } = createFakeCliHost({ control: { call }, terminal: TERMINAL, env: { NO_COLOR: '1' } })
    const question: typeof host.io.stdin.question = async (_prompt, { signal }) => {
      signal.throwIfAborted()
      return 'y'
    }
    const io = { ...host.io, stdin: { ...host.io.stdin, question } }
    expect(await runCli(['call', 'login'], { ...host, io })).toBe(0)
    expect(given).toEqual([{ action: 'cancel' }])
    expect(seen.stderr).toContain('It is not needed any more.\n')
  })

  it('is asked for only at a terminal', async () => {
    expect(await run({ terminal: { stderr: true } })).toMatchObject({ given: [undefined], questions: [] })
    expect(await run({ terminal: TERMINAL, stdin: '{}' }, ['-'])).toMatchObject({ given: [undefined], questions: [] })
  })
})
