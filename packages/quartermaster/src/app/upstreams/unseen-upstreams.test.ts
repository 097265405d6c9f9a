import { expect, it } from 'vitest'
import { withSteps } from './upstream-status.ts'

it('gives the owner the step for each server that is not in a prompt, and leaves what is no server as it is', () => {
  const ofAgents = { capability: 'crm', reason: 'It has not been reached yet.' }
  const other = { capability: 'own', reason: 'Not yet.' }
  const made = { agent: 'a', text: '', estimatedTokens: 0, tools: [], unseen: [ofAgents, other] }
  const unseen = [{ name: 'crm', reason: 'It ended with exit code 3: no good', fix: 'Read it: quartermaster logs crm' }]
  expect(withSteps(made, unseen).unseen).toEqual([
    { capability: 'crm', reason: 'It ended with exit code 3: no good. Read it: quartermaster logs crm' },
    other,
  ])
})
