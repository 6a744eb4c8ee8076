import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Schema } from "./schemas.ts";

/** Ajv's verdict on texts: undefined if the text is valid JSON that the schema allows, else what is wrong with it. */
export function validatorOf(schema: Schema): (text: string) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  const validate: ValidateFunction = ajv.compile(schema);
  return (text) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return String(error);
    }
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}
