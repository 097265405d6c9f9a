import type { ViewedTool } from '../../contracts/index.ts'
import { listed } from './markdown.ts'

/** The end of a section: which of its tools change something, and what to do when a call does not simply answer. */
export function closingRule(tools: readonly ViewedTool[], all: readonly ViewedTool[]): string {
  const waiting = tools.filter(({ mayWait }) => mayWait)
  const disabled = tools.filter(({ state }) => state === 'disabled')
  return [changeRule(tools), ...waitingRule(waiting, all), ...disabledRule(disabled)].join(' ')
}

/** The fewer are named. */
function changeRule(tools: readonly ViewedTool[]): string {
  const changing = tools.filter(({ mutates }) => mutates)
  const reading = tools.filter(({ mutates }) => !mutates)
  if (tools.length === 1) return `\`${tools[0]?.name}\` ${changing.length === 1 ? 'changes something' : 'only reads'}.`
  if (changing.length === 0) return 'All of these only read.'
  if (reading.length === 0) return 'All of these change something.'
  if (changing.length > reading.length)
    return `${listed(namesOf(reading))} only ${reading.length === 1 ? 'reads' : 'read'}; the ${others(changing)} something.`
  const rest = reading.length === 1 ? 'the other only reads' : 'the others only read'
  return `${listed(namesOf(changing))} ${changing.length === 1 ? 'changes' : 'change'} something; ${rest}.`
}

function others({ length }: readonly ViewedTool[]): string {
  return length === 1 ? 'other changes' : 'others change'
}

function waitingRule(waiting: readonly ViewedTool[], all: readonly ViewedTool[]): string[] {
  if (waiting.length === 0) return []
  const status = all.filter(({ tellsOfWaiting, state }) => tellsOfWaiting && state === 'active')
  const look = status.length === 0 ? '' : ` ${listed(namesOf(status))} says how it stands.`
  return [
    `A call of ${listed(namesOf(waiting))} may answer that it waits, for a person or for its next try, with a handle in place of a result. That is no failure: do not call it again, go on with something else.${look}`,
  ]
}

function disabledRule(disabled: readonly ViewedTool[]): string[] {
  if (disabled.length === 0) return []
  const come =
    disabled.length === 1
      ? 'comes back by itself when what it needs is'
      : 'come back by themselves when what they need is'
  return [`${listed(namesOf(disabled))} ${come} there. Until then do the work another way, or say what is missing.`]
}

function namesOf(tools: readonly ViewedTool[]): string[] {
  return tools.map(({ name }) => name)
}
