import { readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSystemClock } from '../../system/index.ts'
import { ChannelFailure, refusedAnswer, SendFailure } from '../peer/channel.ts'
import {
  type ChannelDeskOptions,
  callTool,
  eventually,
  herdFixture,
  openChannel,
  tempFolder,
  textsOf,
} from '../testing/child-fixture.ts'
import { createChildLog } from './child-log.ts'
import { openStdioChannel } from './stdio-channel.ts'

async function failureOf(options: ChannelDeskOptions): Promise<ChannelFailure> {
  const error = await openChannel(options).then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (!(error instanceof ChannelFailure)) throw new Error(`It did not fail: ${String(error)}`)
  return error
}

async function sendFailureOf(sending: Promise<void>): Promise<SendFailure> {
  const error = await sending.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (!(error instanceof SendFailure)) throw new Error(`It did not fail: ${String(error)}`)
  return error
}

describe('a program that speaks MCP', () => {
  it('is asked and answers, a message per line', async () => {
    const server = await openChannel()
    expect(await server.ask('initialize')).toMatchObject({ id: 1, result: { serverInfo: { name: 'ill-server' } } })
    expect(await callTool(server, 'echo', { text: 'Grüße, 世界\n\u2028' })).toBe('Grüße, 世界\n\u2028')
    expect(server.channel.pids()).toHaveLength(1)
    expect(server.channel.hasExchanges).toBe(false)
  })

  it('may send more than a pipe holds in either direction', async () => {
    const server = await openChannel()
    const text = 'x'.repeat(3_000_000)
    expect(await callTool(server, 'echo', { text })).toBe(text)
  })

  it('is heard while a long answer comes', async () => {
    const server = await openChannel()
    await callTool(server, 'echo', { text: 'x' })
    expect(server.parts()).toBe(0)
    await callTool(server, 'echo', { text: 'x'.repeat(3_000_000) })
    expect(server.parts()).toBeGreaterThan(1)
  })

  it('may answer in batches', async () => {
    const server = await openChannel({ flags: ['--batch'] })
    expect(await callTool(server, 'echo', { text: 'hello' })).toBe('hello')
  })

  it('may begin its output, or a line of it, with a byte order mark', async () => {
    const answer = { jsonrpc: '2.0', id: 1, result: {} }
    const program = `for (const end of ['\\n', '']) console.log('\\ufeff' + '${JSON.stringify(answer)}' + end); process.stdin.resume()`
    const server = await openChannel({ args: ['-e', program] })
    await eventually(() => server.messages.length === 2)
    expect(server.messages).toEqual([answer, answer])
  })

  it('has answered with nothing that can be taken where there is neither a result nor an error', async () => {
    const program = `process.stdin.once('data', () => console.log('{"jsonrpc":"2.0","id":1}'))`
    const server = await openChannel({ args: ['-e', program] })
    expect(await server.ask('tools/call')).toEqual(refusedAnswer(1, 'It has neither a result nor an error.'))
  })

  it('never gets a request that was taken back while it did not read', async () => {
    const server = await openChannel()
    const [pid = 0] = server.channel.pids()
    await callTool(server, 'echo', { text: 'It is up.' })
    process.kill(pid, 'SIGSTOP')
    const call = (id: number, text: string) =>
      server.channel.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text } } })
    const first = call(101, 'x'.repeat(3_000_000))
    const second = sendFailureOf(call(102, 'Never mind.'))
    const third = call(103, 'Hello.')
    expect([101, 102, 102].map(id => server.channel.withdraw?.(id))).toEqual([false, true, false])
    expect(await second).toMatchObject({ wasSent: 'no' })
    process.kill(pid, 'SIGCONT')
    await Promise.all([first, third])
    await server.heard(message => 'id' in message && message.id === 103)
    expect(server.messages.flatMap(message => ('id' in message ? message.id : []))).toEqual([1, 101, 103])
  })

  it('is waited for as long as it does not read', async () => {
    const server = await openChannel({ flags: ['--deaf'], limits: { maxWaitingBytes: 2_000_000 } })
    const send = (length: number) =>
      server.channel.send({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(length) } })
    const first = send(1_000_000)
    const second = send(1_000_000)
    const third = await sendFailureOf(send(1_500_000))
    expect(third).toMatchObject({ wasSent: 'no', message: expect.stringContaining('does not read') })
    void server.channel.close()
    expect(await sendFailureOf(second)).toMatchObject({ wasSent: 'no' })
    expect(await sendFailureOf(first)).toMatchObject({ wasSent: 'maybe' })
  })
})

describe('a program that cannot be started', () => {
  it('is named, with the way to fix it', async () => {
    expect((await failureOf({ command: 'no-such-program-here' })).end).toEqual({
      kind: 'exited',
      reason:
        'There is no program "no-such-program-here" on the PATH. Install it, or write its full path as "command".',
    })
    expect((await failureOf({ command: '/no/such/program' })).message).toContain(
      'There is no program "/no/such/program"',
    )
  })

  it.each(['npx -y some-server', 'node /srv/server.mjs', 'node x.js', '/usr/bin/node x.js --port 80'])(
    'may be a whole line by mistake: %s',
    async command => {
      expect((await failureOf({ command })).message).toContain(
        `There is no program "${command}". Write the program alone as "command"`,
      )
    },
  )

  it('may be a whole line with a secret in it, which is not told', async () => {
    expect((await failureOf({ command: 'node x.js --api-key abc' })).message).toContain(
      '"node x.js --api-key [secret]"',
    )
    expect((await failureOf({ command: '/opt/my tools/run' })).message).toContain('"/opt/my tools/run", or what its')
  })

  it('may be a file that is not executable', async () => {
    const file = join(await tempFolder(), 'tool')
    await writeFile(file, '#!/bin/sh\n')
    await chmod(file, 0o644)
    expect((await failureOf({ command: file })).message).toContain('Make it executable (chmod +x)')
  })

  it('may lack its working folder', async () => {
    const cwd = join(await tempFolder(), 'gone')
    expect((await failureOf({ cwd })).message).toBe(`The working folder "${cwd}" is not there.`)
  })

  it('tells nothing of its arguments and variables', async () => {
    const failure = await failureOf({ args: ['a\0hunter2'], env: { KEY: 'b\0hunter3' } })
    expect(failure.message).toContain('could not be started')
    expect(failure.message).not.toContain('hunter')
  })
})

describe('a program that ends', () => {
  it('is heard of once, with its exit code and what it said last', async () => {
    const server = await openChannel({ flags: ['--stderr=no licence found', '--exit=3'] })
    expect(await server.ended).toEqual({
      kind: 'exited',
      reason: 'It ended with exit code 3.',
      said: 'no licence found',
    })
    await server.channel.close()
    expect(server.ends).toHaveLength(1)
    expect(server.channel.pids()).toEqual([])
    expect(textsOf(server)).toContain('no licence found')
  })

  it('is quoted where it gives a reason, not where it gives its version', async () => {
    const server = await openChannel({ flags: ['--throw'] })
    expect((await server.ended).said).toBe('TypeError: It was never going to work')
  })

  it('is heard of with the signal that ended it', async () => {
    const server = await openChannel()
    await server.ask('ping')
    process.kill(server.channel.pids()[0] ?? 0, 'SIGKILL')
    expect(await server.ended).toEqual({ kind: 'exited', reason: 'It was ended by SIGKILL.' })
  })

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'is not quoted when %s ended it: its greeting was no reason',
    async signal => {
      const server = await openChannel({ flags: ['--stderr=Failed to greet, never mind'] })
      await server.ask('ping')
      await eventually(() => textsOf(server).length > 0)
      process.kill(server.channel.pids()[0] ?? 0, signal)
      expect(await server.ended).toEqual({ kind: 'exited', reason: `It was ended by ${signal}.` })
    },
  )

  it('is quoted when it ended itself by a signal', async () => {
    const server = await openChannel({ flags: ['--stderr=Error: heap out of memory'] })
    await server.ask('ping')
    await eventually(() => textsOf(server).length > 0)
    process.kill(server.channel.pids()[0] ?? 0, 'SIGABRT')
    expect(await server.ended).toMatchObject({ reason: 'It was ended by SIGABRT.', said: 'Error: heap out of memory' })
  })

  it('is told to have closed its output where it finds nothing wrong itself', async () => {
    const server = await openChannel({ flags: ['--exit=0'] })
    expect((await server.ended).reason).toBe('It closed its output and ended, with exit code 0.')
  })

  it('has its last answers handed over first', async () => {
    const server = await openChannel({ flags: ['--exit-after=2'] })
    await server.ask('ping')
    await server.channel.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    await server.ended
    expect(server.messages).toHaveLength(2)
  })

  it('has its last answers handed over however long they take to read', async () => {
    const items = 'Array.from({ length: 200_000 }, (_, i) => i)'
    const line = (id: number, result: string) =>
      `JSON.stringify({ jsonrpc: '2.0', id: ${id}, result: ${result} }) + '\\n'`
    const text = [line(1, `{ items: ${items} }`), line(2, '{}')].join('+')
    const args = ['-e', `process.stdout.write(${text}, () => process.kill(process.pid, 'SIGKILL'))`]
    const server = await openChannel({ command: process.execPath, args })
    let isOver = false
    // Everybody else has much to do, so that the reading takes longer than the end of a program is waited for.
    const beBusy = () => {
      const until = performance.now() + 20
      while (performance.now() < until) {}
      if (!isOver) setImmediate(beBusy)
    }
    setImmediate(beBusy)
    expect(await server.ended).toMatchObject({ kind: 'exited', reason: 'It was ended by SIGKILL.' })
    isOver = true
    expect(server.messages).toMatchObject([{ id: 1 }, { id: 2 }])
  })

  it('cannot be sent to any more, which is known', async () => {
    const server = await openChannel({ flags: ['--exit'] })
    await server.ended
    expect(await sendFailureOf(server.channel.send({ jsonrpc: '2.0', id: 1, method: 'ping' }))).toMatchObject({
      wasSent: 'no',
    })
  })

  it.skipIf(process.platform !== 'linux')('is not believed to have seen what found the pipe closed', async () => {
    const server = await openChannel({ command: 'cat', args: [] })
    const [pid = 0] = server.channel.pids()
    process.kill(pid, 'SIGKILL')
    // Without a turn of the event loop in between nobody here can have heard of it; the system has.
    while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) {}
    expect(await sendFailureOf(server.channel.send({ jsonrpc: '2.0', id: 2, method: 'ping' }))).toMatchObject({
      wasSent: 'no',
    })
  })

  it('tells senders what was not sent before it tells of its end', async () => {
    const server = await openChannel({ flags: ['--deaf'] })
    const order: string[] = []
    const text = 'x'.repeat(1_000_000)
    void server.channel.send({ jsonrpc: '2.0', method: 'x', params: { text } }).catch(() => {})
    const waiting = server.channel.send({ jsonrpc: '2.0', method: 'y' })
    const told = waiting.catch((error: SendFailure) => order.push(`send ${error.wasSent}`))
    const end = server.ended.then(({ kind }) => order.push(kind))
    process.kill(server.channel.pids()[0] ?? 0, 'SIGKILL')
    await Promise.all([told, end])
    expect(order).toEqual(['send no', 'exited'])
  })

  it('is ended when it has closed its output', async () => {
    const server = await openChannel({ flags: ['--close-output', '--stubborn'] })
    await server.channel.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await server.ended).toEqual({ kind: 'lost', reason: 'It has closed its output and still runs.' })
    await eventually(() => server.channel.pids().length === 0)
  })

  it('is ended by us without another word', async () => {
    const server = await openChannel()
    await server.ask('ping')
    await server.channel.close()
    expect(await server.ended).toEqual({ kind: 'closed', reason: 'The connection was closed.' })
    expect(server.channel.pids()).toEqual([])
  })

  it('is not asked politely when it hangs', async () => {
    const server = await openChannel({ flags: ['--stubborn'], stop: { graceMs: 60_000, termMs: 60_000 } })
    await server.ask('ping')
    await server.channel.close({ kind: 'hung', reason: 'It runs, but does not answer any more.' })
    expect(server.channel.pids()).toEqual([])
  })

  it('is not started for somebody who has left', async () => {
    const clock = createSystemClock()
    const { herd } = await herdFixture()
    const open = openStdioChannel({
      command: 'no-such-program-here',
      args: [],
      env: {},
      cwd: '/',
      clock,
      processes: herd,
      log: createChildLog({ clock }),
    })
    await expect(open({ onMessage() {}, onEnd() {} }, AbortSignal.abort())).rejects.toMatchObject({
      end: { kind: 'closed' },
    })
  })
})
