import type { ViewedTool } from '../../contracts/index.ts'
import { listed } from './markdown.ts'

/** What to do when a call of a section does not simply answer; nothing where that cannot be. */
export function closingRule(tools: readonly ViewedTool[], all: readonly ViewedTool[]): string | undefined {
  const waiting = tools.filter(({ mayWait }) => mayWait)
  const disabled = tools.filter(({ state }) => state === 'disabled')
  const rules = [...waitingRule(waiting, all), ...disabledRule(disabled)]
  return rules.length === 0 ? undefined : rules.join(' ')
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
