const SIGN_IN = 'Sign in: '

/** What to do about an upstream that lets nobody in who has not signed in. Of an agent, where the login is its own. */
export function loginStep(upstream: string, agent?: string): string {
  const whose = agent === undefined ? '' : ` --agent ${agent}`
  return `${SIGN_IN}quartermaster login ${upstream}${whose}`
}

/** That step at the end of a reason, with whom it is for. Where there is none, a login would not help. */
export function loginStepIn(reason: string, upstream: string): string | undefined {
  const text = reason.trimEnd().replace(/\.$/, '')
  const shared = loginStep(upstream)
  const at = text.lastIndexOf(shared)
  const whose = text.slice(at + shared.length)
  return at !== -1 && /^( --agent \S+)?$/.test(whose) ? text.slice(at) : undefined
}

/** That step for an upstream that needs a login: for whom the reason says, and else for all. */
export function neededLogin({ name, reason }: { readonly name: string; readonly reason: string }): string {
  return loginStepIn(reason, name) ?? loginStep(name)
}

/** What is typed for such a step. */
export function commandOf(step: string): string {
  return step.slice(SIGN_IN.length)
}

/** Whether a reason ends with that step. */
export function hasLoginStep(reason: string, upstream: string): boolean {
  return loginStepIn(reason, upstream) !== undefined
}

/** A reason without that step at its end, for where the step is shown by itself. */
export function withoutLoginStep(reason: string, upstream: string): string {
  const step = loginStepIn(reason, upstream)
  return step === undefined ? reason : reason.slice(0, reason.lastIndexOf(step)).trimEnd()
}
