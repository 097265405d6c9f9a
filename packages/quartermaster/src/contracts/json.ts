export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON Schema document, 2020-12 unless it says otherwise. */
export type JsonSchema = { readonly [key: string]: unknown }
