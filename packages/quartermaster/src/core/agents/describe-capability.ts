import type { CapabilityDescriptor, PromptDescriptor, ResourceDescriptor } from '../../contracts/index.ts'
import type { CatalogueCapability, Prompt, Resource } from '../catalogue/index.ts'

/** A capability as discovery shows it. */
export function describeCapability(capability: CatalogueCapability): CapabilityDescriptor {
  const { key, title, short, descriptors, prompts, resources, configSchema } = capability
  const descriptor: CapabilityDescriptor = { key, title, short, tools: [...descriptors] }
  if (prompts.length > 0) descriptor.prompts = prompts.map(describePrompt)
  if (resources.length > 0) descriptor.resources = resources.map(describeResource)
  return configSchema ? { ...descriptor, configSchema: { ...configSchema } } : descriptor
}

function describePrompt({ name, title, short, arguments: given }: Prompt): PromptDescriptor {
  return { name, title, short, arguments: [...given] }
}

function describeResource({ name, title, short, mimeType, uri, uriTemplate }: Resource): ResourceDescriptor {
  return {
    name,
    title,
    short,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(uri === undefined ? {} : { uri }),
    ...(uriTemplate === undefined ? {} : { uriTemplate }),
  }
}
