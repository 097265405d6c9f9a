import { expect, it } from 'vitest'
import { AppError, type ErrorCode, type Toolbox } from '../../contracts/index.ts'
import { callForModel } from './call-for-model.ts'

/** A toolbox that answers no call. */
function broken(error: unknown): Toolbox {
  return { call: () => Promise.reject(error) } as unknown as Toolbox
}

const asked = { name: 'add', input: {} }

it.each<ErrorCode>(['TOOL_NOT_FOUND', 'DEPENDENCY_UNAVAILABLE', 'OUTCOME_UNKNOWN', 'TOKEN_INVALID', 'STOPPING'])(
  'has the model read %s, wherever it came up',
  async code => {
    const result = await callForModel(broken(new AppError(code, 'It did not go.')), asked)
    expect(result).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code } } })
    expect(result.content).toEqual([{ type: 'text', text: expect.stringMatching(`^${code}: It did not go\\.`) }])
  },
)

it('throws what was cancelled: whoever gave up waits for no answer', async () => {
  await expect(callForModel(broken(new AppError('CANCELLED', 'Over.')), asked)).rejects.toMatchObject({
    code: 'CANCELLED',
  })
  const signal = AbortSignal.abort()
  const lost = new AppError('OUTCOME_UNKNOWN', 'Lost.')
  await expect(callForModel(broken(lost), { ...asked, signal })).rejects.toBe(lost)
})

it('throws what is no error of ours', async () => {
  await expect(callForModel(broken(new TypeError('a bug')), asked)).rejects.toThrow('a bug')
})
