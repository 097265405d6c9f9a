import { expect, it } from 'vitest'
import { hasLoginStep, loginCommand, loginStep, loginStepIn, neededLogin, withoutLoginStep } from './index.ts'

it.each([undefined, 'bob'])('finds the login that helps at the end of a reason, and what stands before: %s', agent => {
  const step = loginStep('notes', agent)
  for (const end of ['', '.', '.\n']) {
    const reason = `It lets nobody in. ${step}${end}`
    expect(loginStepIn(reason, 'notes')).toBe(step)
    expect(neededLogin({ name: 'notes', reason })).toBe(step)
    expect(hasLoginStep(reason, 'notes')).toBe(true)
    expect(withoutLoginStep(reason, 'notes')).toBe('It lets nobody in.')
  }
})

it.each([
  'It lets nobody in.',
  'Sign in: quartermaster login notes2',
  'Sign in: quartermaster login notes --agent bob, or do not.',
  'Sign in: quartermaster login notes, or do not.',
])('finds none where it is of another, or not the end: %s', reason => {
  expect(loginStepIn(reason, 'notes')).toBeUndefined()
  expect(hasLoginStep(reason, 'notes')).toBe(false)
  expect(withoutLoginStep(reason, 'notes')).toBe(reason)
  expect(loginCommand(neededLogin({ name: 'notes', reason }))).toBe('quartermaster login notes')
})
