import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCliProcess } from '../../testing/build-cli-process.ts'
import { createProcessIo } from './index.ts'

let program: Awaited<ReturnType<typeof buildCliProcess>>
beforeAll(async () => {
  program = await buildCliProcess()
})
afterAll(() => program.remove())

const start = (...argv: string[]) => spawn(process.execPath, [join(program.dir, 'cli-process.cjs'), ...argv])

async function finish(child: ReturnType<typeof start>) {
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => (stdout += String(chunk)))
  child.stderr.on('data', chunk => (stderr += String(chunk)))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

describe('a real process', () => {
  it('writes everything into a pipe before it ends', async () => {
    const { code, stdout, stderr } = await finish(start('tools', '--json'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toHaveLength(5_002)
  })

  it('reads arguments from standard input', async () => {
    const child = start('call', 'echo', '-')
    child.stdin.end('{"path":"é"}')
    expect(await finish(child)).toEqual({ code: 0, stdout: '{"path":"é"}', stderr: '' })
  })

  it('ends quietly when the reader goes away', async () => {
    const child = start('tools')
    child.stdout.once('data', () => child.stdout.destroy())
    let stderr = ''
    child.stderr.on('data', chunk => (stderr += String(chunk)))
    const [code] = await once(child, 'close')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it.skipIf(process.platform === 'win32')('aborts the running call on Ctrl-C and ends with 130', async () => {
    const child = start('call', 'hang')
    await once(child.stderr, 'data')
    child.kill('SIGINT')
    const { code, stdout, stderr } = await finish(child)
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toContain('aborted\n')
    expect(stderr).toContain('Cancelled.\n')
  })
})

describe('a line of a pipe', () => {
  it.each([
    ['while the pipe stays open', 'one\r\ntwo\n', false, 'one'],
    ['at the end, which need not end it', 'one', true, 'one'],
    ['or not at all', '', true, ''],
  ])('is taken as soon as it is there: %s', async (_when, text, ends, line) => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const io = createProcessIo({ ...streams, env: {}, interrupt: () => {} })
    streams.stdin.write(text)
    if (ends) streams.stdin.end()
    expect(await io.stdin.line()).toBe(line)
  })
})

describe('a question', () => {
  it('is asked on standard error and answered with one line', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const io = createProcessIo({ ...streams, env: {}, interrupt: () => {} })
    const answer = io.stdin.question('Allow? ', { signal: new AbortController().signal })
    streams.stdin.write('y\nmore\n')
    expect(await answer).toBe('y')
    expect(String(streams.stderr.read())).toContain('Allow? ')
    expect(streams.stdout.read()).toBeNull()
  })

  it('shows nothing of an answer that is to be hidden', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const io = createProcessIo({ ...streams, env: {}, interrupt: () => {} })
    const answer = io.stdin.question('Key: ', { signal: new AbortController().signal, isHidden: true })
    streams.stdin.write('hush\r')
    expect(await answer).toBe('hush')
    expect([String(streams.stderr.read()), streams.stdout.read()]).toEqual(['Key: \n', null])
  })

  it('is answered with nothing when the input ends', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const io = createProcessIo({ ...streams, env: {}, interrupt: () => {} })
    const answer = io.stdin.question('Allow? ', { signal: new AbortController().signal })
    streams.stdin.end()
    expect(await answer).toBe('')
  })

  it('is given up when the signal aborts', async () => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    const io = createProcessIo({ ...streams, env: {}, interrupt: () => {} })
    const abort = new AbortController()
    const answer = io.stdin.question('Allow? ', { signal: abort.signal })
    abort.abort()
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' })
  })
})
