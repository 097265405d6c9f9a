import { describe, expect, it } from 'vitest'
import { parseMessage, parseMessages } from './index.ts'

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const answer = { jsonrpc: '2.0', id: 2, result: {} }

describe('the messages in a text', () => {
  it('are one, or those of a batch', () => {
    expect(parseMessages(JSON.stringify(ping))).toEqual([ping])
    expect(parseMessages(JSON.stringify([ping, answer]))).toEqual([ping, answer])
  })

  it.each(['', 'Listening on stdio', '1', 'null', '{}', '[]', '[1]', JSON.stringify([ping, 'x'])])(
    'are none in %j',
    text => {
      expect(parseMessages(text)).toEqual([])
    },
  )

  it('are one at a time for whoever does not take batches', () => {
    expect(parseMessage(JSON.stringify(ping))).toEqual(ping)
    expect(parseMessage(JSON.stringify([ping]))).toBeUndefined()
  })
})
