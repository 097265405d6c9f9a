import type { OpenChannel } from '../session/channel.ts'

/** Where a server is, and how it is reached. */
export interface Target {
  readonly transport: 'stdio' | 'http'
  /** For people: the program and its arguments, or the address. No secret in it. */
  readonly text: string
  /** The way to it, with an agent's own credentials if it has some. */
  open(agent: string | undefined): OpenChannel
  /** What can be seen of it from outside, cheaply: another value means that starting may work now. */
  fingerprint(): Promise<string>
  /** Whether there is anything to show that is for all: a key in the entry, or a login. */
  hasForAll(): Promise<boolean>
  /** Agents that there are and that people have signed in for, beside those that are configured. */
  agentsSignedIn(): Promise<readonly string[]>
}
