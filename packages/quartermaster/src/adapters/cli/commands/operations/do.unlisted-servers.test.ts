import { expect, it } from 'vitest'
import { type AgentPrompt, AppError, type Control, type UpstreamStatus } from '../../../../contracts/index.ts'
import { NOTES, READ_FILE_DETAIL } from '../../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const STEP = 'See how it is: quartermaster upstreams'
const starting = (name: string): UpstreamStatus => ({
  ...NOTES,
  name,
  state: 'starting',
  reason: 'It was started and has not answered yet.',
  unseen: STEP,
})

/** What is said of a word that no tool has. */
async function told(word: string, control: Partial<Control>, options: CliHostOptions = {}): Promise<string> {
  const tools = async () => [{ ...READ_FILE_DETAIL, command: { name: 'read-file' } }]
  const tool = () => Promise.reject(new AppError('TOOL_NOT_FOUND', 'There is none.'))
  const { host, seen } = createFakeCliHost({ ...options, control: { tools, tool, ...control } })
  expect(await runCli(['do', word, '--help'], host)).toBe(4)
  return seen.stderr
}

it.each(['hang', 'hang-wait', 'hang_wait'])('names the server that has not been listed yet: do %s', async word => {
  const upstreams = async () => [NOTES, starting('hang'), starting('other')]
  const why = '"hang" has not been seen yet, so its commands are not known: It was started and has not answered yet.'
  const stderr = await told(word, { upstreams })
  expect(stderr).toContain(`No tool has the command "${word}". ${why} ${STEP}\n`)
  expect(stderr).not.toContain('"other"')
})

it('names all unlisted servers where the word belongs to none: a server may call its tools as it likes', async () => {
  const upstreams = async () => [NOTES, starting('hang'), starting('other')]
  expect(await told('zork', { upstreams })).toContain(
    'No tool has the command "zork". "hang", "other" have not been seen yet, so their commands are not known: quartermaster upstreams\n',
  )
})

it('says only that there is none where all servers were listed or no up answers', async () => {
  const none = 'Error: No tool has the command "zork".\n'
  expect(await told('zork', { upstreams: async () => [NOTES] })).toContain(none)
  expect(await told('zork', { upstreams: () => Promise.reject(new Error('no')) })).toContain(none)
})

it('tells an agent with a token why, and no step that it could not take', async () => {
  const unseen = [{ capability: 'hang', reason: 'It has not been reached yet.' }]
  const prompt = async () => ({ text: '', unseen }) as unknown as AgentPrompt
  const stderr = await told('hang-x', { prompt }, { env: { QUARTERMASTER_TOKEN: 'qmt_x' } })
  expect(stderr).toContain(
    '"hang" has not been seen yet, so its commands are not known: It has not been reached yet.\n',
  )
  const other = await told('zork', { prompt }, { env: { QUARTERMASTER_TOKEN: 'qmt_x' } })
  expect(other).toContain('"hang" has not been seen yet, so its commands are not known.\n')
})
