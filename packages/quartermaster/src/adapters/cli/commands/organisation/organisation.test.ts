import { expect, it } from 'vitest'
import { AppError, CONTROL, type Control } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

/** What a command asks for first; it gets no further. */
async function asked(args: readonly string[]): Promise<unknown[]> {
  const seen: unknown[] = []
  const asking = (operation: string) => async (input: object) => {
    seen.push(operation, input)
    throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
  }
  const operations = Object.keys(CONTROL).map(operation => [operation, asking(operation)])
  const control = Object.fromEntries(operations) as Partial<Control>
  const { host } = createFakeCliHost({ control })
  await runCli(args, host)
  return seen
}

it.each([
  ['operations list', 'operations', {}],
  ['operations show op_1', 'operation', { id: 'op_1' }],
  ['operations retry op_1', 'retryOperation', { id: 'op_1' }],
  ['operations cancel op_1', 'cancelOperation', { id: 'op_1' }],
  ['operations drop op_1', 'dropOperation', { id: 'op_1' }],
  ['operations verify op_1', 'verifyOperation', { id: 'op_1' }],
  ['approvals', 'approvals', {}],
  ['approvals list', 'approvals', {}],
  ['approvals show op_1', 'approval', { id: 'op_1' }],
  ['approvals allow op_1 --yes', 'answerApproval', { id: 'op_1', decision: 'allow', lasting: 'once' }],
  ['approvals deny op_1', 'answerApproval', { id: 'op_1', decision: 'deny', lasting: 'once' }],
  ['grants list', 'grants', {}],
  ['grants revoke grant_1', 'revokeGrants', { id: 'grant_1' }],
  ['logs', 'audit', {}],
  ['tokens', 'tokens', {}],
  ['tokens create ada', 'createToken', { agent: 'ada' }],
  ['tokens create --person eve', 'createToken', { person: 'eve' }],
])('%s is about the organisation that is named', async (line, operation, input) => {
  const words = line.split(' ')
  const [first, within] = [await asked(words), await asked([...words, '--organisation', 'acme'])]
  expect(first).toEqual([operation, expect.objectContaining(input)])
  expect(first[1]).not.toHaveProperty('organisation')
  expect(within).toEqual([operation, { ...(first[1] as object), organisation: 'acme' }])
})

it.each(['approvals', 'tokens'])('%s takes it before a subcommand too', async command => {
  const rest = command === 'approvals' ? ['show', 'op_1'] : ['create', 'ada']
  const [, input] = await asked([command, '--organisation', 'acme', ...rest])
  expect(input).toMatchObject({ organisation: 'acme' })
})
