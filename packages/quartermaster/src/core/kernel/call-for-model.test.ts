import { describe, expect, it } from 'vitest'
import { AppError, type ErrorCode, KEPT_META, type Toolbox } from '../../contracts/index.ts'
import { callForModel } from './index.ts'

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

describe('a result that was cut', () => {
  const kept = { resultId: 'op_1', totalBytes: 900, keptBytes: 900, nextOffset: 400 }
  const content = ['beginning', 'note', 'link'].map(text => ({ type: 'text' as const, text }))
  const recorded = { ...kept, isRecorded: true }
  const cutBy = (names: readonly string[], told: object) =>
    ({
      tools: async () => names.map(name => ({ name, mutates: true })),
      call: async () => ({ content, _meta: { [KEPT_META]: told } }),
    }) as unknown as Toolbox
  const toldBy = async (toolbox: Toolbox) => (await callForModel(toolbox, asked)).content

  it('says with which tool to read on, where there is one and the call left a record', async () => {
    expect(await toldBy(cutBy(['call_tool', 'get_status'], recorded))).toEqual([
      content[0],
      { type: 'text', text: '[It goes on. Read on: get_status with { "id": "op_1", "offset": 400 }.]' },
    ])
  })

  it('sends the model to no resource and to no tool that does not help it', async () => {
    for (const toolbox of [cutBy(['call_tool'], recorded), cutBy(['call_tool', 'get_status'], kept)]) {
      const [first, note, ...more] = await toldBy(toolbox)
      expect([first, more]).toEqual([content[0], []])
      expect(note).toMatchObject({ text: expect.stringContaining('page("op_1", 400)') })
      expect(JSON.stringify(note)).not.toMatch(/get_status|quartermaster:/)
    }
  })
})
