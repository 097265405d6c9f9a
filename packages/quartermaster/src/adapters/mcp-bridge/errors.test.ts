import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { Request } from '../mcp-wire/index.ts'
import { failureAnswer, outcomeUnknown, strangeAnswer } from './errors.ts'

const call: Request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } }
const textOf = (error: unknown) =>
  (failureAnswer(call, error).result as { content: { text: string }[] }).content[0]?.text

describe('what a model reads when a call could not be passed on', () => {
  it('ends with what to do next, as it does from the server itself', () => {
    expect(textOf(new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody is there.'))).toBe(
      'DEPENDENCY_UNAVAILABLE: Nobody is there. Try again later or use another tool.',
    )
    expect(textOf(new AppError('AGENT_NOT_FOUND', 'There is no agent "x".'))).toMatch(/^AGENT_NOT_FOUND: .+\. .+\.$/)
  })

  it('never says to try again what may have happened', () => {
    const text = textOf(outcomeUnknown(call))
    expect(text).toContain('Look at what it changes before you try again.')
    expect(text).not.toContain('Try again later')
  })

  it('names the command that finds out more about an answer that makes no sense', () => {
    expect(strangeAnswer(502).message).toBe(
      'Quartermaster answered with HTTP 502 and nothing else. See what is wrong: quartermaster doctor',
    )
  })
})
