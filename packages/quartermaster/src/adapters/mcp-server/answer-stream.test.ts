import { expect, it, onTestFinished, vi } from 'vitest'
import { answerHeaders, createAnswerStream } from './answer-stream.ts'

const RESULT = { jsonrpc: '2.0', id: 1, result: { content: [] } } as const

it('is a single document without notifications', async () => {
  const answer = createAnswerStream()
  answer.end(RESULT)
  expect(await answer.served).toMatchObject({ status: 200, text: JSON.stringify(RESULT) })
})

it('becomes a stream with the first notification, and ends with the result', async () => {
  const answer = createAnswerStream()
  answer.notify('notifications/progress', { progress: 1 })
  answer.end(RESULT)
  const served = await answer.served
  const text = served instanceof Response ? await served.text() : served.text
  expect(text.match(/^data: .*$/gm)?.map(line => JSON.parse(line.slice(6)))).toEqual([
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
    RESULT,
  ])
})

it('drops notifications after its end', async () => {
  const answer = createAnswerStream()
  answer.end(RESULT)
  answer.notify('notifications/progress', { progress: 2 })
  expect(await answer.served).not.toBeInstanceOf(Response)
})

it('drops a notification that cannot be serialised', async () => {
  const answer = createAnswerStream()
  answer.notify('notifications/message', { data: { id: 10n } })
  answer.end(RESULT)
  expect(await answer.served).toMatchObject({ status: 200, text: JSON.stringify(RESULT) })
})

it('reports a result that cannot be serialised', async () => {
  const answer = createAnswerStream()
  answer.end({ jsonrpc: '2.0', id: 7, result: { size: 1n } })
  expect(JSON.parse(((await answer.served) as { text: string }).text)).toMatchObject({ id: 7, error: { code: -32603 } })
})

it('becomes a stream after its time limit, and ends with the result', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const answer = createAnswerStream({ streamAfterMs: 1_000, headers: answerHeaders({ 'mcp-session-id': 's1' }) })
  vi.advanceTimersByTime(1_000)
  const served = (await answer.served) as Response
  expect(Object.fromEntries(served.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'mcp-session-id': 's1',
  })
  vi.advanceTimersByTime(15_000)
  answer.end(RESULT)
  expect(await served.text()).toBe(`: keepalive\n\nevent: message\ndata: ${JSON.stringify(RESULT)}\n\n`)
  expect(vi.getTimerCount()).toBe(0)
})

it('leaves no timer behind when it is short', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const answer = createAnswerStream({ streamAfterMs: 1_000 })
  answer.end(RESULT)
  expect(await answer.served).not.toBeInstanceOf(Response)
  expect(vi.getTimerCount()).toBe(0)
})

it('ends empty when it is dropped', async () => {
  const answer = createAnswerStream()
  answer.drop()
  answer.end(RESULT)
  expect(await ((await answer.served) as Response).text()).toBe('')
})

const EVENTS = { headers: { 'content-type': 'text/event-stream' } }

it('continues with another response after its own notifications', async () => {
  const [plain, begun] = [createAnswerStream(), createAnswerStream()]
  begun.notify('notifications/progress', { progress: 1 })
  const other = new Response('data: other\n\n', EVENTS)
  plain.continueWith(other)
  begun.continueWith(new Response('data: other\n\n', EVENTS))
  begun.end(RESULT)
  expect(await plain.served).toBe(other)
  expect(await ((await begun.served) as Response).text()).toMatch(/^event: message\ndata: .*\n\ndata: other\n\n$/)
})

it('ends its stream when the other response is a refusal', async () => {
  const answer = createAnswerStream()
  answer.notify('notifications/progress', { progress: 1 })
  answer.continueWith(Response.json({ error: 'no' }, { status: 404 }))
  expect(await ((await answer.served) as Response).text()).not.toContain('no"')
})

it.each(['before', 'after'])('cancels the other response when its client disconnects %s that begins', async when => {
  const left: string[] = []
  const source = new ReadableStream<Uint8Array>({ cancel: () => void left.push('left') })
  const answer = createAnswerStream()
  answer.notify('notifications/progress', { progress: 1 })
  const { body } = (await answer.served) as Response
  if (when === 'before') await body?.cancel()
  answer.continueWith(new Response(source, EVENTS))
  if (when === 'after') await body?.cancel()
  await expect.poll(() => left).toEqual(['left'])
})
