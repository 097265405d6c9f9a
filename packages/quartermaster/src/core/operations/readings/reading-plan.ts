import { AppError, type PromptResult } from '../../../contracts/index.ts'
import type { Seat } from '../../agents/index.ts'
import type { Prompt, ReadingContext, Resource, Suggest } from '../../catalogue/index.ts'
import { didYouMean } from '../../kernel/index.ts'
import { checkArguments } from './prompt-arguments.ts'
import { type OutputPlace, type ReadResult, toPromptResult, toReadResult } from './reading-output.ts'
import type { PromptRequest, ReadingRequest, ResourceReadRequest, SuggestRequest } from './reading-request.ts'

/** What is to be read, before anybody has looked whether it may be. */
export interface ReadingPlan<T> {
  readonly request: ReadingRequest
  /** What was asked for, as the audit names it. */
  readonly asked: string
  /** What the audit's digest is made of. */
  readonly input: unknown
  /** Permission and arguments. Throws what is wrong with them; can be called again. */
  permit(): PermittedReading<T>
}

/** A reading that was let through. The configuration belongs to the definition's own generation. */
export interface PermittedReading<T> {
  /** `prompt:review`, `resource:docs://{page}`. */
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  run(context: ReadingContext): unknown
  /** Checks what running gave. */
  finish(output: unknown, place: OutputPlace): T
}

export function planPrompt(request: PromptRequest): ReadingPlan<PromptResult> {
  const { seat, name, arguments: given = {} } = request
  return {
    request,
    asked: `prompt:${name}`,
    input: given,
    permit() {
      const { prompt, config } = findPrompt(seat, name)
      const values = checkArguments(prompt, given)
      return {
        address: `prompt:${name}`,
        item: prompt,
        config,
        run: context => prompt.render(values, context),
        finish: (output, place) => toPromptResult(prompt, output, place),
      }
    },
  }
}

export function planResource(request: ResourceReadRequest): ReadingPlan<ReadResult> {
  const { seat, uri } = request
  return {
    request,
    asked: `resource:${uri}`,
    input: { uri },
    permit() {
      const found = seat.resource(uri)
      if (!found) throw noResource(seat, uri)
      const { resource, config } = found.grant
      return {
        address: `resource:${resource.key}`,
        item: resource,
        config,
        run: context => resource.read({ uri, params: found.params }, context),
        finish: (output, place) => toReadResult(resource, { uri, output }, place),
      }
    },
  }
}

/** What helps to fill in an argument, if anything does. */
export interface PermittedSuggestion {
  readonly address: string
  readonly item: Prompt | Resource
  readonly config: unknown
  readonly helper: Suggest | undefined
}

/** Finds the help for an argument. Throws when the caller has no such prompt or template, or it has no such argument. */
export function permitSuggestion({ seat, ref, argument }: SuggestRequest): PermittedSuggestion {
  const found = 'prompt' in ref ? promptArguments(seat, ref.prompt) : templateNames(seat, ref.resource)
  const { names, address, item, config } = found
  if (!names.includes(argument.name)) {
    const message = `"${address}" has no argument "${argument.name}".${didYouMean(argument.name, names)}`
    throw new AppError('INPUT_INVALID', message)
  }
  return { address, item, config, helper: item.suggest.get(argument.name) }
}

function promptArguments(seat: Seat, name: string) {
  const { prompt, config } = findPrompt(seat, name)
  return { names: prompt.arguments.map(one => one.name), address: `prompt:${name}`, item: prompt, config }
}

function templateNames(seat: Seat, uriTemplate: string) {
  const grant = seat.resourceTemplate(uriTemplate)
  if (!grant) throw noResource(seat, uriTemplate)
  const { resource, config } = grant
  return { names: resource.params, address: `resource:${resource.key}`, item: resource, config }
}

/** A prompt that is not granted does not exist for the caller, and the two are answered alike. */
function findPrompt(seat: Seat, name: string) {
  const grant = seat.prompt(name)
  if (grant) return grant
  const visible = seat.view().prompts.map(({ prompt }) => prompt.name)
  throw new AppError('PROMPT_NOT_FOUND', `"${seat.caller.name}" has no prompt "${name}".${didYouMean(name, visible)}`)
}

function noResource(seat: Seat, uri: string): AppError {
  const visible = seat.view().resources.map(({ resource }) => resource.key)
  const message = `"${seat.caller.name}" has no resource at "${uri}".${didYouMean(uri, visible)}`
  return new AppError('RESOURCE_NOT_FOUND', message, { details: { uri } })
}
