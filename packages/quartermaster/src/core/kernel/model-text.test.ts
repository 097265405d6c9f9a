import { describe, expect, it } from 'vitest'
import { AppError, type ErrorCode } from '../../contracts/index.ts'
import { errorForModel } from './index.ts'

const textOf = (code: ErrorCode) => errorForModel(new AppError(code, 'It went wrong.').toJSON())

describe('what a model reads of an error', () => {
  it('is its code, its words and what to do next', () => {
    expect(textOf('INPUT_INVALID')).toBe(
      'INPUT_INVALID: It went wrong. Correct the arguments first; the same call fails again.',
    )
    expect(textOf('DEPENDENCY_UNAVAILABLE')).toContain('Try again later')
  })

  it('goes on behind words that are no sentence, such as a command', () => {
    const error = new AppError('DEPENDENCY_UNAVAILABLE', 'Sign in: quartermaster login w')
    expect(errorForModel(error.toJSON())).toContain('login w. Try again later')
  })

  it('says no word of trying again where that is of no use', () => {
    expect(textOf('ANSWER_UNAVAILABLE')).toBe(
      'ANSWER_UNAVAILABLE: It went wrong. Trying again changes nothing; use another tool, or tell your person.',
    )
  })

  it('adds nothing where what may have happened has to be looked at first', () => {
    expect(textOf('OUTCOME_UNKNOWN')).toBe('OUTCOME_UNKNOWN: It went wrong.')
  })

  it('agrees with the retry advice of its code', () => {
    expect(textOf('INTERNAL')).toContain('Try again later.')
    expect(textOf('LOGIN_FAILED')).toContain('Try again later')
    expect(textOf('OUTPUT_INVALID')).toContain('Do not try again')
    expect(textOf('IDEMPOTENCY_CONFLICT')).toContain('the same call fails again')
    expect(textOf('EDIT_CONFLICT')).toContain('before you try again')
  })

  it('gives no advice twice', () => {
    const told = (code: ErrorCode, message: string) => errorForModel(new AppError(code, message).toJSON())
    for (const message of ['"ada" has no tool "x". Did you mean "y"?', 'There is no such page. List them first.'])
      expect(told('TOOL_NOT_FOUND', message)).toBe(`TOOL_NOT_FOUND: ${message}`)
    expect(told('RATE_LIMITED', 'Too many. Come back in 3 s.')).toBe('RATE_LIMITED: Too many. Come back in 3 s.')
  })
})
