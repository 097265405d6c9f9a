import { expect, it } from 'vitest'
import { createAnswerStream } from './answer-stream.ts'

const RESULT = { jsonrpc: '2.0', id: 1, result: { content: [] } } as const

it('is one plain text when nothing is sent on the way', async () => {
  const answer = createAnswerStream()
  answer.end(RESULT)
  expect(await answer.served).toMatchObject({ status: 200, text: JSON.stringify(RESULT) })
})

it('is a stream when something is, and ends with the result', async () => {
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

it('hears nothing of what is told after its end', async () => {
  const answer = createAnswerStream()
  answer.end(RESULT)
  answer.notify('notifications/progress', { progress: 2 })
  expect(await answer.served).not.toBeInstanceOf(Response)
})

it('says so when its message cannot be written', async () => {
  const answer = createAnswerStream()
  answer.end({ jsonrpc: '2.0', id: 7, result: { size: 1n } })
  expect(JSON.parse(((await answer.served) as { text: string }).text)).toMatchObject({ id: 7, error: { code: -32603 } })
})
