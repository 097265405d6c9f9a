import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ChannelFailure, SendFailure } from '../peer/channel.ts'
import { type ChannelFixtureOptions, callTool, eventually, openChannel, textsOf } from '../testing/child-fixture.ts'

async function failureOf(options: ChannelFixtureOptions): Promise<ChannelFailure> {
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
  it('may begin its output, or a line of it, with a byte order mark', async () => {
    const answer = { jsonrpc: '2.0', id: 1, result: {} }
    const program = `for (const end of ['\\n', '']) console.log('\\ufeff' + '${JSON.stringify(answer)}' + end); process.stdin.resume()`
    const server = await openChannel({ args: ['-e', program] })
    await eventually(() => server.messages.length === 2)
    expect(server.messages).toEqual([answer, answer])
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
  it('may be a whole line with a secret in it, which is not told', async () => {
    expect((await failureOf({ command: 'node x.js --api-key abc' })).message).toContain(
      '"node x.js --api-key [secret]"',
    )
    expect((await failureOf({ command: '/opt/my tools/run' })).message).toContain('"/opt/my tools/run", or what its')
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
  it('has its last answers handed over first', async () => {
    const server = await openChannel({ flags: ['--exit-after=2'] })
    await server.ask('ping')
    await server.channel.send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    await server.ended
    expect(server.messages).toHaveLength(2)
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
  it('is not asked politely when it hangs', async () => {
    const server = await openChannel({ flags: ['--stubborn'], stop: { graceMs: 60_000, termMs: 60_000 } })
    await server.ask('ping')
    await server.channel.close({ kind: 'hung', reason: 'It runs, but does not answer any more.' })
    expect(server.channel.pids()).toEqual([])
  })
})
