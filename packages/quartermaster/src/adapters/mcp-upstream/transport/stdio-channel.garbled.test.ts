import { describe, expect, it } from 'vitest'
import { refusedAnswer } from '../peer/channel.ts'
import { callTool, eventually, openChannel, textsOf } from '../testing/child-fixture.ts'

describe('a program that does not speak MCP', () => {
  it('may greet on its output, which is kept in its log', async () => {
    const server = await openChannel({ flags: ['--banner=3'] })
    expect(await callTool(server, 'echo', { text: 'hello' })).toBe('hello')
    expect(textsOf(server)).toContain('Not a message on its output: Ill server, line 1 of its greeting')
  })

  it('may write other lines between its messages', async () => {
    const server = await openChannel({ flags: ['--garbage-between'], limits: { maxNoise: 2 } })
    for (let i = 0; i < 10; i++) await server.ask('ping')
    expect(server.ends).toEqual([])
  })

  it('may write thousands of them in one call, and is heard all the same', async () => {
    const server = await openChannel({ flags: ['--garbage-in-calls=9000'] })
    await server.ask('ping')
    for (const text of ['once', 'again']) expect(await callTool(server, 'echo', { text })).toBe(text)
    expect(server.ends).toEqual([])
    expect(server.log.lines({ limit: 10_000 }).length).toBeLessThanOrEqual(1_000)
  })

  it('may write no more of them where nothing that is a message comes for long', async () => {
    const server = await openChannel({ flags: ['--garbage-on=ping'], limits: { maxNoise: 15_000 } })
    expect(await callTool(server, 'echo', { text: 'hello' })).toBe('hello')
    void server.ask('ping')
    const said = expect.stringMatching(/^garbage 0 /)
    expect(await server.ended).toEqual({ kind: 'garbled', reason: 'It writes lines that are no messages.', said })
  })

  it('may write no more in them than in a line that is too long', async () => {
    const limits = { maxLineBytes: 100_000, maxSkippedBytes: 200_000 }
    const server = await openChannel({ flags: ['--huge-line=199999', '--garbage-in-calls=200'], limits })
    void callTool(server, 'echo')
    expect(await server.ended).toMatchObject({ kind: 'garbled', said: expect.stringMatching(/^x{159}… garbage 0 /) })
  })

  it('is given up when it writes nothing else, with an excerpt that can be shown', async () => {
    const server = await openChannel({ flags: ['--garbage'] })
    expect(await server.ended).toEqual({
      kind: 'garbled',
      reason: 'It writes lines that are no messages.',
      said: expect.stringMatching(/^garbage 0 \\u\{1b\}\[31m garbage 1 \\u\{1b\}\[31m garbage 2 .{200,}…$/),
    })
    await server.channel.close()
    expect(server.ends).toHaveLength(1)
  })

  it('is not ended for a line that is too long: what comes behind it is heard, and the log says why', async () => {
    const limits = { maxLineBytes: 1_000_000 }
    const server = await openChannel({ flags: ['--huge-line=3000000', '--huge-answer=3000000'], limits })
    const call = { name: 'echo', arguments: {} }
    expect(await server.ask('tools/call', call)).toEqual(refusedAnswer(1, 'It is longer than 1000000 bytes.'))
    expect(await server.ask('ping')).toMatchObject({ result: {} })
    expect(server.messages).toHaveLength(2)
    const why = 'A message is not taken. It is longer than 1000000 bytes. It begins: '
    expect(textsOf(server)).toContainEqual(expect.stringContaining(`${why}xxx`))
    expect(textsOf(server)).toContainEqual(expect.stringContaining(`${why}{"jsonrpc":"2.0","id":1,`))
  })

  it('is given up when a line has no end, however long it would be', async () => {
    const limits = { maxLineBytes: 100_000, maxSkippedBytes: 1_000_000 }
    const server = await openChannel({ flags: [`--huge-line=${2 ** 30}`], limits })
    expect(await server.ended).toEqual({
      kind: 'garbled',
      reason: 'It wrote a line of more than 1000000 bytes.',
      said: expect.stringMatching(/^x{159}…$/),
    })
    await server.channel.close()
    expect(server.channel.pids()).toEqual([])
  })

  it('is not followed into the depth: such an answer is not taken, and the log says why', async () => {
    const server = await openChannel({ flags: ['--deep=100000'] })
    expect(await server.ask('ping')).toMatchObject({ result: {} })
    expect(server.messages[0]).toEqual(refusedAnswer(0, 'It nests deeper than 512 levels.'))
    expect(server.messages).toHaveLength(2)
    const why =
      'A message is not taken. It nests deeper than 512 levels. It begins: {"jsonrpc":"2.0","id":0,"result":[['
    expect(textsOf(server)).toContainEqual(expect.stringContaining(why))
  })

  it('has no part of a secret quoted where its line is cut', async () => {
    const secret = 'sk-live-4f9A7c2E8b1D6e3F0a5C9d2B7e4A1f8C3d6E'
    // Both in what is shown, and where what is kept of the line ends.
    const begun = `${'z'.repeat(4_066)}${secret}`
    const line = `${begun.padEnd(16 * 1024 - 30, 'z')}${secret}${'z'.repeat(6_000)}`
    const server = await openChannel({
      args: ['-e', `console.log(${JSON.stringify(line)}); setInterval(() => {}, 1_000)`],
      limits: { maxLineBytes: 10_000 },
      secrets: [secret],
    })
    await eventually(() => textsOf(server).length === 2)
    expect(textsOf(server)[1]).toMatch(
      /^A message is not taken. It is longer than 10000 bytes. It begins: z{4066}\[secret\]z+…$/,
    )
  })

  it('does not have its secrets quoted', async () => {
    const secret = 'hunter2-hunter2'
    const server = await openChannel({
      flags: ['--secret=KEY', '--exit'],
      env: { KEY: secret },
      secrets: [secret],
    })
    expect((await server.ended).said).toBe('the secret is [secret]')
    expect(JSON.stringify(server.log.lines({ limit: 100 }))).not.toContain(secret)
  })
})

describe('a flood', () => {
  it('of messages leaves turns to everybody else', async () => {
    const server = await openChannel({ flags: ['--flood=20000'] })
    const turns: number[] = []
    const take = () => {
      const handled = server.messages.length
      turns.push(handled)
      if (handled < 20_000) setImmediate(take)
    }
    take()
    await server.channel.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await eventually(() => server.messages.length === 20_000)
    const atATime = turns.map((handled, index) => handled - (turns[index - 1] ?? 0))
    expect(atATime.filter(handled => handled > 256)).toEqual([])
  })

  it('of messages does not keep an answer from coming', async () => {
    const server = await openChannel({ flags: ['--flood=0'] })
    await server.channel.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await callTool(server, 'echo', { text: 'still here' })).toBe('still here')
    await server.channel.close()
    expect(server.ends).toEqual([{ kind: 'closed', reason: 'The connection was closed.' }])
  })

  it('of standard error is dropped and counted', async () => {
    const server = await openChannel({ flags: ['--stderr-flood=50000'] })
    expect(await callTool(server, 'echo', { text: 'still here' })).toBe('still here')
    const counted = () => {
      const lines = server.log.lines({ limit: 10_000 })
      const dropped = lines.flatMap(({ text }) => /^… (\d+) lines? (?:was|were) dropped$/.exec(text)?.[1] ?? [])
      const kept = lines.filter(({ from }) => from === 'stderr').length
      return dropped.reduce((sum, count) => sum + Number(count), kept)
    }
    await eventually(() => counted() === 50_000)
    expect(server.log.lines({ limit: 10_000 }).length).toBeLessThanOrEqual(1_000)
  })

  it('of strange messages ends nobody who handles them badly', async () => {
    const server = await openChannel({ flags: ['--unknown-ids'] })
    let isFirst = true
    server.messages.push = (...messages) => {
      if (isFirst) {
        isFirst = false
        throw new Error('this one is too strange')
      }
      return Array.prototype.push.apply(server.messages, messages)
    }
    expect(await server.ask('ping')).toMatchObject({ id: 1 })
    expect(textsOf(server)).toContain('A message from it could not be handled: Error: this one is too strange')
  })
})
