import { type Caller } from '../../contracts/index.ts'

const PREFIX = 'upstream:'
const DEPENDENCY_PREFIX = 'upstream-'

/** The unit that a server of others is: its definitions come and go together, and what is wrong with it is told under this. */
export function upstreamUnit(name: string): string {
  return `${PREFIX}${name}`
}

/** The server of others that a unit is; nothing where it is none. */
export function upstreamIn(unit: string): string | undefined {
  return unit.startsWith(PREFIX) ? unit.slice(PREFIX.length) : undefined
}

/** What tools of a server of others need: its connection, as a dependency. */
export function upstreamDependency(name: string): string {
  return `${DEPENDENCY_PREFIX}${name}`
}

/** The server of others whose connection a dependency is; nothing where it is none. */
export function upstreamBehind(dependency: string): string | undefined {
  return dependency.startsWith(DEPENDENCY_PREFIX) ? dependency.slice(DEPENDENCY_PREFIX.length) : undefined
}

/**
 * Under which the consent operations of an upstream stand: lower case, and a letter first. No two upstreams of a project may
 * have the same, or allowing the one would allow the other.
 */
export function consentPrefix(upstream: string): string {
  const word = upstream.toLowerCase()
  return /^[a-z]/.test(word) ? word : `u${word}`
}

/** One text for each caller, and no two alike: what is kept apart by who calls is kept by this. Names have no slashes. */
export function callerKey({ organisation, workspace, kind, name }: Caller): string {
  return `${organisation}/${workspace}/${kind}/${name}`
}

const SIGN_IN = 'Sign in: '

/** What to do about an upstream that needs a login. With an agent where the login is the agent's own. */
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
